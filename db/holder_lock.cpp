#include "db/holder_lock.hpp"

#include "db/one_line.hpp"
#include "libcore/clock.hpp"
#include "libcore/error.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace attune::db {

using core::Error;
using core::ErrorCode;

namespace {

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("unknown host");
}

// "pid 123 on host node1 since 2026-11-30T13:57:00Z", as the holder wrote it.
std::string holder_text(int fd) {
    std::array<char, 512> text{};
    const ssize_t size = ::pread(fd, text.data(), text.size() - 1, 0);
    std::string holder(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    holder.erase(holder.find_last_not_of("\n ") + 1);
    return holder.empty() ? "another process" : holder;
}

}  // namespace

HolderLock::HolderLock(const std::string& path) {
    const std::string lock = path + ".lock";
    fd_.reset(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!fd_) {
        throw Error(ErrorCode::failure, one_line(lock) + ": cannot be created (" + std::strerror(errno) +
                                            "): make the folder writable, or name a journal elsewhere with --journal");
    }
    if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            throw Error(ErrorCode::busy, one_line(path) + ": held by " + holder_text(fd_.get()) + ": wait for it, or name another file with --journal");
        }
        throw Error(ErrorCode::failure, one_line(lock) + ": cannot be locked (" + std::strerror(errno) + "): name a journal on a local disk with --journal");
    }
    const std::string holder = "pid " + std::to_string(::getpid()) + " on host " + host_name() + " since " + core::utc_now() + "\n";
    // A failed write only makes a later message less exact.
    if (::ftruncate(fd_.get(), 0) != 0 || ::pwrite(fd_.get(), holder.data(), holder.size(), 0) < 0) return;
}

HolderLock::~HolderLock() {
    // The file stays: removing it could take away the name that another process has just locked.
    if (fd_ && ::ftruncate(fd_.get(), 0) != 0) return;
}

}  // namespace attune::db
