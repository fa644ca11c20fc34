#include "db/release.hpp"

#include "db/one_line.hpp"
#include "db/file_system.hpp"
#include "db/footer.hpp"
#include "db/release_image.hpp"
#include "db/schema.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

namespace attune::db {

using core::Error;
using core::ErrorCode;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t largest_file = 256ULL << 20;
constexpr int lock_attempts = 100;  // of 50 ms; publishing takes well under a second
constexpr useconds_t lock_pause_us = 50'000;

// Publishers of one folder take turns; the lock is on the folder itself, so nothing is left behind. Where folders cannot be locked (some
// network file systems) the rename alone keeps readers safe.
class FolderLock {
public:
    explicit FolderLock(const std::string& folder) : fd_(core::open_file(folder, O_RDONLY | O_DIRECTORY)) {
        for (int attempt = 0; attempt < lock_attempts; ++attempt) {
            if (::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
            ::usleep(lock_pause_us);
        }
        throw Error(ErrorCode::busy, one_line(folder) + ": another process is publishing there: try again when it has ended");
    }

private:
    core::UniqueFd fd_;
};

// Removed again unless it was renamed away.
class TemporaryPath {
public:
    explicit TemporaryPath(const std::string& target) : path_(target + ".tmp-" + std::to_string(::getpid())) { ::unlink(path_.c_str()); }
    ~TemporaryPath() { ::unlink(path_.c_str()); }
    TemporaryPath(const TemporaryPath&) = delete;
    TemporaryPath& operator=(const TemporaryPath&) = delete;
    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

// Under the folder's lock no living process owns such a file.
void remove_leftovers(const std::string& path) {
    const std::string prefix = fs::path(path).filename().string() + ".tmp-";
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(core::parent_directory(path), error)) {
        if (entry.path().filename().string().starts_with(prefix)) fs::remove(entry.path(), error);
    }
}

std::vector<std::byte> read_file(const std::string& path) {
    try {
        return core::read_whole_file(path, {.limit_bytes = largest_file, .follow_links = false});
    } catch (const Error& error) {
        const bool missing = error.code() == ErrorCode::not_found;
        if (missing) throw ReleaseError(ReleaseError::Kind::missing, path, "no such file");
        throw ReleaseError(ReleaseError::Kind::unreadable, path, reason_of(path, error.what()));
    }
}

struct Existing {
    std::optional<ReleaseContent> content;
    std::string damage;  // why there is no content although there is a file
};

// Throws for a file that must not be replaced: newer than this attune, or unreadable.
Existing read_existing(const std::string& path) {
    try {
        return {read_release(path), {}};
    } catch (const ReleaseError& error) {
        if (error.kind() == ReleaseError::Kind::missing) return {};
        if (error.kind() == ReleaseError::Kind::damaged) return {std::nullopt, error.reason()};
        throw;
    }
}

// Rows of identities that the new content does not speak about.
void keep_others(ReleaseContent& content, const ReleaseContent& old) {
    const auto speaks_about = [known = content.identities](const Identity& identity) { return std::ranges::find(known, identity) != known.end(); };
    for (const Identity& identity : old.identities) {
        if (!speaks_about(identity)) content.identities.push_back(identity);
    }
    for (const ReleaseRow& row : old.rows) {
        if (!speaks_about(row.identity)) content.rows.push_back(row);
    }
    content.cuts.insert(content.cuts.end(), old.cuts.begin(), old.cuts.end());
}

void seal(const std::string& path) {
    const core::UniqueFd file = core::open_file(path, O_RDWR | O_APPEND | O_NOFOLLOW);
    const auto image = core::read_whole_file(path, {.limit_bytes = largest_file - footer_bytes, .follow_links = false});
    core::write_all(file.get(), make_footer(image), path);
    core::sync_descriptor(file.get(), path);
}

std::vector<std::string> replace_release(const std::string& path, ReleaseContent content, const Merge& merge) {
    std::vector<std::string> notices;
    const FolderLock lock(core::parent_directory(path));
    remove_leftovers(path);
    const Existing existing = read_existing(path);
    if (existing.content && merge) merge(content, *existing.content);
    normalize(content);
    if (existing.content) keep_others(content, *existing.content);
    normalize(content);
    const TemporaryPath temporary(path);
    write_image(content, temporary.path());
    seal(temporary.path());
    (void)read_release(temporary.path());  // what jobs will do, before they can
    if (existing.content) keep_copy(path, path + ".previous");
    if (!existing.damage.empty()) {
        keep_copy(path, path + ".damaged");
        notices.push_back(one_line(path) + ": the release there was damaged (" + existing.damage + "); it is kept as " + one_line(path) + ".damaged");
    }
    core::rename_durably(temporary.path(), path);
    return notices;
}

}  // namespace

void require_replaceable(const std::string& path) {
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) != 0) return;
    const auto refused = [&path](const char* why) { return Error(ErrorCode::usage, one_line(path) + ": " + why); };
    if (S_ISLNK(facts.st_mode)) throw refused("is a symbolic link; name the file itself with --db");
    if (S_ISDIR(facts.st_mode)) throw refused("is a folder; name a file in it with --db");
    if (!S_ISREG(facts.st_mode)) throw refused("is no regular file; name another with --db");
    if (facts.st_size == 0) return;
    try {
        (void)read_release(path);
        return;
    } catch (const ReleaseError& error) {
        if (error.kind() == ReleaseError::Kind::missing) return;
        if (error.kind() != ReleaseError::Kind::damaged) throw Error(ErrorCode::failure, std::string(error.what()) + "; name another file with --db");
    }
    if (is_journal(path)) throw refused("is a journal, which a release would replace; name another file with --db");
    if (!is_release(path)) throw refused("is no release, and publishing would replace it; remove it, or name another file with --db");
}

std::vector<std::string> write_release(const std::string& given, ReleaseContent content, const Merge& merge) {
    require_replaceable(absolute_path(given));
    try {
        const std::string folder = core::parent_directory(absolute_path(given));
        core::make_directories(folder);
        return replace_release(absolute_path(given), std::move(content), merge);
    } catch (const ReleaseError& error) {
        throw Error(ErrorCode::failure, std::string(error.what()) + "; the release was not written: name another file with --db");
    } catch (const Error& error) {
        if (error.code() == ErrorCode::busy) throw;
        throw Error(ErrorCode::failure, std::string(error.what()) + "; " + one_line(given) +
                                            " was not written: check space and permissions of its folder, or name another file with --db");
    }
}

ReleaseContent read_release(const std::string& path) {
    std::vector<std::byte> file = read_file(path);
    return parse_image(check_footer(file, path), path);
}

bool is_release(const std::string& path) try {
    constexpr std::size_t id_at = 68, id_bytes = 4;  // https://sqlite.org/fileformat.html 1.3, big endian
    const std::vector<std::byte> file = read_file(path);
    if (has_footer_magic(file)) return true;
    if (file.size() < id_at + id_bytes) return false;
    std::int64_t id = 0;
    for (std::size_t i = 0; i < id_bytes; ++i)
        id = id << 8 | std::to_integer<std::int64_t>(file[id_at + i]);
    return id == release_application_id;
} catch (const Error&) {
    return false;
}

core::ConfigTable table_for(const ReleaseContent& content, const Identity& identity) {
    std::vector<core::TableRow> rows;
    for (const ReleaseRow& row : content.rows) {
        if (row.identity == identity) rows.push_back(row.row);
    }
    return core::ConfigTable::build(std::move(rows));
}

}  // namespace attune::db
