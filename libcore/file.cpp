#include "libcore/file.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attune::core {

namespace {

constexpr std::size_t longest_path = 4096;

// Reads errno, so it must be called before anything else can change it.
Error system_error(std::string_view action, std::string_view name) {
    const int number = errno;
    const ErrorCode code = number == ENOENT ? ErrorCode::not_found : ErrorCode::failure;
    return Error(code, fmt::format("cannot {} '{}': {}", action, printable(name, longest_path), std::strerror(number)));
}

Error refused(std::string_view path, std::string_view reason) {
    return Error(ErrorCode::failure, fmt::format("cannot read '{}': {}", printable(path, longest_path), reason));
}

// Removes the temporary file unless it was renamed.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string& target) : path_(target + ".XXXXXX") {
        descriptor_.reset(::mkostemp(path_.data(), O_CLOEXEC));
        if (!descriptor_) throw system_error("create a file beside", target);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() {
        if (!kept_) ::unlink(path_.c_str());
    }
    void keep() noexcept { kept_ = true; }
    int descriptor() const noexcept { return descriptor_.get(); }
    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
    UniqueFd descriptor_;
    bool kept_ = false;
};

std::size_t read_some(int descriptor, std::span<std::byte> out, const std::string& path) {
    ssize_t got = -1;
    do {
        got = ::read(descriptor, out.data(), out.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) throw system_error("read", path);
    return static_cast<std::size_t>(got);
}

}  // namespace

void UniqueFd::reset(int descriptor) noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = descriptor;
}

UniqueFd open_file(const std::string& path, int flags, mode_t mode) {
    int descriptor = -1;
    do {
        descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor >= 0) return UniqueFd(descriptor);
    if (errno == ELOOP && (flags & O_NOFOLLOW) != 0) {
        throw Error(ErrorCode::failure, fmt::format("cannot open '{}': it is a symbolic link; name the file itself", printable(path, longest_path)));
    }
    throw system_error("open", path);
}

std::vector<std::byte> read_whole_file(const std::string& path, const ReadOptions& options) {
    // O_NONBLOCK: opening a FIFO without a writer would wait forever.
    const UniqueFd file = open_file(path, O_RDONLY | O_NONBLOCK | (options.follow_links ? 0 : O_NOFOLLOW));
    struct stat facts {};
    if (::fstat(file.get(), &facts) != 0) throw system_error("read", path);
    if (!S_ISREG(facts.st_mode)) throw refused(path, "it is no regular file");
    const auto size = static_cast<std::uint64_t>(facts.st_size);
    if (size > options.limit_bytes) throw refused(path, fmt::format("{} bytes exceed the limit of {}", size, options.limit_bytes));
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    for (std::size_t done = 0; done < bytes.size();) {
        const std::size_t got = read_some(file.get(), std::span(bytes).subspan(done), path);
        if (got == 0) throw refused(path, "it shrank while it was read; try again");
        done += got;
    }
    return bytes;
}

void write_all(int descriptor, std::span<const std::byte> bytes, std::string_view name) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw system_error("write", name);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

void sync_descriptor(int descriptor, std::string_view name) {
    if (::fsync(descriptor) != 0) throw system_error("sync", name);
}

void sync_directory(const std::string& path) {
    const UniqueFd directory = open_file(path, O_RDONLY | O_DIRECTORY);
    // Some network file systems cannot sync a directory and say EINVAL; nothing better exists there.
    if (::fsync(directory.get()) != 0 && errno != EINVAL) throw system_error("sync", path);
}

void rename_durably(const std::string& from, const std::string& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) throw system_error("rename to", to);
    sync_directory(parent_directory(to));
}

void replace_file(const std::string& path, std::span<const std::byte> bytes, mode_t mode) {
    TemporaryFile temporary(path);
    write_all(temporary.descriptor(), bytes, temporary.path());
    if (::fchmod(temporary.descriptor(), mode) != 0) throw system_error("set the mode of", temporary.path());
    sync_descriptor(temporary.descriptor(), temporary.path());
    if (::rename(temporary.path().c_str(), path.c_str()) != 0) throw system_error("rename to", path);
    temporary.keep();
    sync_directory(parent_directory(path));
}

std::string parent_directory(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

void make_directories(const std::string& path, mode_t mode) {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string part = path.substr(0, end);
        const bool made = ::mkdir(part.c_str(), mode) == 0 || errno == EEXIST;
        if (!made) throw system_error("make the directory", part);
        if (end == std::string::npos) break;
    }
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) throw system_error("make the directory", path);
    if (!S_ISDIR(facts.st_mode)) throw Error(ErrorCode::failure, fmt::format("'{}' is no directory; remove it or name another", printable(path, longest_path)));
}

bool file_exists(const std::string& path) noexcept {
    struct stat facts {};
    return ::lstat(path.c_str(), &facts) == 0;
}

}  // namespace attune::core
