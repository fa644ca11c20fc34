// Internal errors become attune::Error at the edge of the library.
#pragma once

#include "apps/runtime/job.hpp"
#include "libcore/error.hpp"

#include <memory>
#include <new>

namespace attune::detail {

template <class Action>
auto translated(const Action& action) -> decltype(action()) {
    try {
        return action();
    } catch (const core::Error& error) {
        throw Error(error.exit_code(), error.what());
    } catch (const std::bad_alloc&) {
        throw Error(1, "out of memory");
    }
}

inline Job& job_of(const std::shared_ptr<Job>& job) {
    if (!job) throw Error(2, "this attune::Communicator was moved from; use the one it was moved to");
    return *job;
}

}  // namespace attune::detail
