#include "apps/tools/support/interrupt.hpp"

#include <atomic>

namespace attune::tools {
namespace {

// A signal handler has no argument to carry state: this flag is the one thing it may touch.
std::atomic<bool> signal_seen = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// SA_RESETHAND resets the one that came; the other one must end the process too when it comes second.
extern "C" void note_signal(int) {
    signal_seen.store(true, std::memory_order_relaxed);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
    signal_seen.store(false, std::memory_order_relaxed);
    struct sigaction action {};
    action.sa_handler = note_signal;
    // SA_RESETHAND: the second signal has its ordinary effect. No SA_RESTART: a sleeping poll wakes up.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &old_interrupt_);
    sigaction(SIGTERM, &action, &old_terminate_);
}

InterruptGuard::~InterruptGuard() {
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGTERM, &old_terminate_, nullptr);
}

bool InterruptGuard::interrupted() const noexcept {
    return signal_seen.load(std::memory_order_relaxed);
}

}  // namespace attune::tools
