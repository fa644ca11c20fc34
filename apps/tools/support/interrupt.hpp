// Ctrl-C with manners: the first asks the work to save and stop (exit code 130), the second ends the process at once.
#pragma once

#include <csignal>

namespace attune::tools {

// Catches SIGINT and SIGTERM while it lives. One at a time in a process; not inherited by programs that are executed.
class InterruptGuard {
public:
    InterruptGuard();
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;

    // True from the first signal on. Safe from any thread.
    bool interrupted() const noexcept;

private:
    struct sigaction old_interrupt_ {};
    struct sigaction old_terminate_ {};
};

}  // namespace attune::tools
