// Files as a database needs them: owned descriptors, bounded reads, replacement that survives a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace attune::core {

// Owns a file descriptor; -1 = none. Move-only; closes on destruction.
class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int descriptor) noexcept : descriptor_(descriptor) {}
    UniqueFd(UniqueFd&& other) noexcept : descriptor_(other.release()) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) reset(other.release());
        return *this;
    }
    ~UniqueFd() { reset(); }

    int get() const noexcept { return descriptor_; }
    explicit operator bool() const noexcept { return descriptor_ >= 0; }
    int release() noexcept { return std::exchange(descriptor_, -1); }
    void reset(int descriptor = -1) noexcept;

private:
    int descriptor_ = -1;
};

// open(2) with O_CLOEXEC. Throws Error(not_found) when nothing is there, else Error(failure), naming the path and the reason.
UniqueFd open_file(const std::string& path, int flags, mode_t mode = 0600);

struct ReadOptions {
    std::uint64_t limit_bytes = 256ULL << 20;
    bool follow_links = true;  // false: O_NOFOLLOW, a symbolic link at the last component is an error
};
// The bytes of a regular file; a FIFO, device or directory is an error and never blocks. Throws like open_file(), and Error(failure) above
// the limit or when the file shrinks while it is read.
std::vector<std::byte> read_whole_file(const std::string& path, const ReadOptions& options = {});

// Writes everything, retrying short writes. `name` is for the message. Throws Error(failure).
void write_all(int descriptor, std::span<const std::byte> bytes, std::string_view name);
void sync_descriptor(int descriptor, std::string_view name);  // fsync; throws Error(failure)
void sync_directory(const std::string& path);                 // fsync of a directory; throws Error(failure)

// rename(2) and fsync of the target's directory, so the new name survives a crash. The file itself must be synced already.
void rename_durably(const std::string& from, const std::string& to);
// Writes a temporary file beside `path`, syncs it, renames it over `path` and syncs the directory: readers see the old bytes or the new
// ones, never a mixture. The temporary file is removed on failure. Throws Error(failure).
void replace_file(const std::string& path, std::span<const std::byte> bytes, mode_t mode = 0644);

// "." when the path has no directory part.
std::string parent_directory(const std::string& path);
// mkdir -p with the given mode for what is created. Throws Error(failure).
void make_directories(const std::string& path, mode_t mode = 0755);
bool file_exists(const std::string& path) noexcept;  // anything at all, a dangling link included

}  // namespace attune::core
