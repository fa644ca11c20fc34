#include "apps/tools/support/release_target.hpp"

#include "db/file_system.hpp"
#include "db/journal.hpp"
#include "db/lookup.hpp"
#include "db/release.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

namespace attune::tools {

using core::Error;
using core::ErrorCode;
namespace fs = std::filesystem;

namespace {

Error refused(const std::string& path, const std::string& why) {
    return {ErrorCode::usage, path + ": " + why};
}

bool same_file(const std::string& a, const std::string& b) {
    std::error_code error;
    return db::absolute_path(a) == db::absolute_path(b) || fs::equivalent(a, b, error);
}

void require_writable_folder(const std::string& release) {
    fs::path folder = fs::absolute(core::parent_directory(release));
    while (!fs::exists(folder) && folder.has_relative_path())
        folder = folder.parent_path();
    if (!fs::is_directory(folder)) throw Error(ErrorCode::failure, release + ": " + folder.string() + " is no folder; name another file with --db");
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        throw Error(ErrorCode::failure, release + ": cannot write in " + folder.string() + " (" + std::strerror(errno) + "); name another file with --db");
}

}  // namespace

std::optional<ReleaseTarget> find_release_target(const core::Environment& environment, const TargetWish& wish) {
    const std::vector<db::Layer> layers = db::layers(environment, wish.release.value_or(""));
    if (layers.empty()) throw Error(ErrorCode::usage, "ATTUNE_DB names no file; unset it, or name a release with --db");
    const db::Layer& first = layers.front();
    if (!first.named && core::user_database_path(environment) != first.path) return std::nullopt;
    return ReleaseTarget{first.path, wish.journal.value_or(db::journal_path_of(first.path))};
}

ReleaseTarget release_target(const core::Environment& environment, const TargetWish& wish) {
    if (auto target = find_release_target(environment, wish)) return std::move(*target);
    throw Error(ErrorCode::failure, "no place for the database: neither XDG_DATA_HOME nor HOME is an absolute path; name a file with --db FILE");
}

void require_publishable(const ReleaseTarget& target) {
    if (same_file(target.release, target.journal)) throw refused(target.release, "is named as release and as journal; name two files with --db and --journal");
    db::require_replaceable(target.release);
    require_writable_folder(target.release);
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
