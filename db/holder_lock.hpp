// One writer per journal: an flock on a file beside it that also says who holds it. The kernel drops the lock when the process dies.
#pragma once

#include "libcore/file.hpp"

#include <string>

namespace attune::db {

class HolderLock {
public:
    // Locks "<path>.lock". Throws Error(busy) naming the holder's pid, host and start.
    explicit HolderLock(const std::string& path);
    ~HolderLock();
    HolderLock(HolderLock&&) noexcept = default;
    HolderLock& operator=(HolderLock&&) noexcept = default;

private:
    core::UniqueFd fd_;
};

}  // namespace attune::db
