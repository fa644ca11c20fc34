#include "apps/tools/support/release_target.hpp"

#include "db/footer.hpp"
#include "db/journal.hpp"
#include "db/release.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace attune::tools {

using core::Error;
using core::ErrorCode;
namespace fs = std::filesystem;

namespace {

Error refused(const std::string& path, const std::string& why) {
    return {ErrorCode::usage, path + ": " + why};
}

// One file has one name here, links resolved as far as the path exists.
std::string canonical(const std::string& path) {
    std::error_code error;
    const fs::path result = fs::weakly_canonical(fs::absolute(path), error);
    return error ? path : result.string();
}

bool same_file(const std::string& a, const std::string& b) {
    std::error_code error;
    return canonical(a) == canonical(b) || fs::equivalent(a, b, error);
}

void require_writable_folder(const std::string& release) {
    fs::path folder = fs::absolute(core::parent_directory(release));
    while (!fs::exists(folder) && folder.has_relative_path())
        folder = folder.parent_path();
    if (!fs::is_directory(folder)) throw Error(ErrorCode::failure, release + ": " + folder.string() + " is no folder; name another file with --db");
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        throw Error(ErrorCode::failure, release + ": cannot write in " + folder.string() + " (" + std::strerror(errno) + "); name another file with --db");
}

void require_replaceable(const std::string& release) {
    if (db::is_journal(release)) throw refused(release, "is a journal, which a release would replace; name another file with --db");
    if (!db::is_release(release)) throw refused(release, "is no release, and publishing would replace it; remove it, or name another file with --db");
    try {
        (void)db::read_release(release);
    } catch (const db::ReleaseError& error) {
        if (error.kind() == db::ReleaseError::Kind::damaged) return;  // put aside when the new one is written
        throw Error(ErrorCode::failure, std::string(error.what()) + "; name another file with --db");
    }
}

}  // namespace

std::string own_database(const core::Environment& environment) {
    if (auto path = core::user_database_path(environment)) return std::move(*path);
    throw Error(ErrorCode::failure, "no place for the database: neither XDG_DATA_HOME nor HOME is an absolute path; name a file with --db FILE");
}

void require_publishable(const ReleaseTarget& target) {
    const std::string& release = target.release;
    if (same_file(release, target.journal)) throw refused(release, "is named as release and as journal; name two files with --db and --journal");
    struct stat facts {};
    if (::lstat(release.c_str(), &facts) == 0) {
        if (S_ISLNK(facts.st_mode)) throw refused(release, "is a symbolic link; name the file itself with --db");
        if (S_ISDIR(facts.st_mode)) throw refused(release, "is a folder; name a file in it with --db");
        if (!S_ISREG(facts.st_mode)) throw refused(release, "is no regular file; name another with --db");
        if (facts.st_size > 0) require_replaceable(release);
    }
    require_writable_folder(release);
}

void require_not_default(const ReleaseTarget& target, const core::Environment& environment) {
    for (const std::string& path : core::default_database_paths(environment)) {
        const std::string journal = db::journal_path_of(path);
        for (const std::string& named : {target.release, target.journal})
            if (same_file(named, path) || same_file(named, journal))
                throw refused(named,
                              "--candidate-zero replaces the default for a test, so its rows and trials never go to the default database; name other "
                              "files with --db and --journal");
    }
}

}  // namespace attune::tools
