#include "apps/tools/profile/record.hpp"

#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/text.hpp"
#include "libcore/trace_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune::tools::profile {

namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;

constexpr const char* folder_stem = "attune-trace";
constexpr const char* extension = ".steps";

bool is_trace_name(const fs::path& path) {
    const std::string name = path.filename().string();
    return name.starts_with("rank-") && name.find(extension) != std::string::npos;
}

std::vector<std::string> files_in(const fs::path& folder) {
    std::vector<std::string> files;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
        if (is_trace_name(entry.path())) files.push_back(entry.path().string());
    }
    std::ranges::sort(files);
    return files;
}

struct Folder {
    std::string path;
    bool made = false;  // here, so that it may be removed again
};

// mkdir decides, so that two runs at once never share a folder.
Folder make_folder(const std::string& wanted) {
    const auto make = [](const std::string& path) { return ::mkdir(path.c_str(), 0700) == 0; };
    if (!wanted.empty()) {
        if (make(wanted)) return {wanted, true};
        if (errno == EEXIST && fs::is_directory(wanted) && files_in(wanted).empty()) return {wanted, false};
        const std::string why = errno == EEXIST ? "it is there already; name a new folder" : std::strerror(errno);
        throw Error(ErrorCode::failure, fmt::format("cannot record into '{}': {}", core::printable(wanted, 4096), why));
    }
    for (int number = 1; number < 10'000; ++number) {
        const std::string path = number == 1 ? folder_stem : fmt::format("{}-{}", folder_stem, number);
        if (make(path)) return {path, true};
        if (errno != EEXIST)
            throw Error(ErrorCode::failure, fmt::format("cannot make the folder '{}' here: {}; name one with --output", path, std::strerror(errno)));
    }
    throw Error(ErrorCode::failure, "there are 9,999 folders of traces here; remove some, or name one with --output");
}

// Before any rank starts: a folder that no file can be made in, or a full disk, is one line instead of one of each rank.
void try_folder(const Folder& folder) {
    const std::string path = folder.path + "/.attune-profile";
    const core::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    const int number = file ? ::posix_fallocate(file.get(), 0, core::trace_header_bytes + core::TraceStage::bytes) : errno;
    if (file) ::unlink(path.c_str());
    if (number == 0) return;
    if (folder.made) ::rmdir(folder.path.c_str());
    throw Error(ErrorCode::failure, fmt::format("cannot record into '{}': {}; name another folder", core::printable(folder.path, 4096), std::strerror(number)));
}

std::vector<std::string> launch_words(const RecordOptions& options, const std::string& folder) {
    std::error_code error;
    const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
    std::vector<std::string> words = {(own / "attune-run").string()};
    words.insert(words.end(), options.launcher.begin(), options.launcher.end());
    words.insert(words.end(), {"-x", "ATTUNE_TRACE=" + fs::absolute(folder).string(), "--"});
    words.insert(words.end(), options.command.begin(), options.command.end());
    return words;
}

// The terminal's signals reach the launcher, and it ends when its ranks do: this process only waits for it.
int run_and_wait(const std::vector<std::string>& words) {
    std::vector<char*> argv;
    for (const std::string& word : words)
        argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGQUIT, SIG_IGN);
    const pid_t child = ::fork();
    if (child < 0) throw Error(ErrorCode::failure, fmt::format("cannot start attune-run: {}", std::strerror(errno)));
    if (child == 0) {
        std::signal(SIGINT, SIG_DFL);
        std::signal(SIGQUIT, SIG_DFL);
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // who ends this tool ends the job, too
        ::execv(argv[0], argv.data());
        std::fprintf(stderr, "attune-profile: cannot start %s: %s\n", argv[0], std::strerror(errno));
        ::_exit(127);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) throw Error(ErrorCode::failure, fmt::format("cannot wait for attune-run: {}", std::strerror(errno)));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int record(const RecordOptions& options) {
    if (options.command.empty()) throw Error(ErrorCode::usage, "no program was given; write attune-profile run -n 2 -- PROGRAM ARGUMENTS");
    const Folder folder = make_folder(options.folder);
    try_folder(folder);
    const int status = run_and_wait(launch_words(options, folder.path));
    const std::size_t files = files_in(folder.path).size();
    if (files == 0) {
        std::error_code error;
        if (folder.made) fs::remove(folder.path, error);  // only when it is empty
        if (status != 0) return status;
        throw Error(ErrorCode::failure, "the program left no trace: it made no communicator of attune");
    }
    std::fprintf(stderr, "attune-profile: %zu trace%s in %s; attune-profile show %s\n", files, files == 1 ? "" : "s", folder.path.c_str(), folder.path.c_str());
    return status;
}

std::vector<std::string> trace_files(const std::vector<std::string>& paths) {
    std::vector<std::string> files;
    for (const std::string& path : paths) {
        std::error_code error;
        if (!fs::is_directory(path, error)) {
            files.push_back(path);
            continue;
        }
        const std::vector<std::string> found = files_in(path);
        if (found.empty()) throw Error(ErrorCode::not_found, fmt::format("'{}' holds no traces; attune-profile run makes them", core::printable(path, 4096)));
        files.insert(files.end(), found.begin(), found.end());
    }
    return files;
}

std::string newest_folder() {
    std::string newest;
    fs::file_time_type time;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(".", error)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(folder_stem) || !entry.is_directory(error) || files_in(entry.path()).empty()) continue;
        const fs::file_time_type changed = entry.last_write_time(error);
        if (newest.empty() || changed > time) newest = name, time = changed;
    }
    if (newest.empty()) throw Error(ErrorCode::not_found, "there is no folder of traces here; name one, or make one with attune-profile run -- PROGRAM");
    return newest;
}

}  // namespace attune::tools::profile
