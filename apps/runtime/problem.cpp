// From the calls of the public headers to the problems of collectives.
#include "apps/runtime/include/attune/attune.h"
#include "apps/runtime/job.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

namespace attune::detail {

namespace {

// The enumerations of both public headers have the values of the internal ones, whose names are checked by the tests.
constexpr int last_collective = static_cast<int>(Collective::batch_send_recv), last_dtype = static_cast<int>(DType::bfloat16),
              last_op = static_cast<int>(Op::bxor);
static_assert(last_collective == static_cast<int>(collectives::Collective::batch_send_recv) && last_collective == ATTUNE_BATCH_SEND_RECV);
static_assert(static_cast<int>(Collective::barrier) == static_cast<int>(collectives::Collective::barrier) &&
              static_cast<int>(Collective::barrier) == ATTUNE_BARRIER);
static_assert(last_dtype == static_cast<int>(core::DType::bfloat16) && last_dtype == ATTUNE_BFLOAT16);
static_assert(last_op == static_cast<int>(core::Op::bxor) && last_op == ATTUNE_BXOR);

// A cast can make any value of an enumeration.
void require_known(const char* what, int value, int last) {
    if (value > last)
        throw core::Error(core::ErrorCode::usage, fmt::format("{} {} does not exist; the values are 0 to {} (attune/types.hpp)", what, value, last));
}

}  // namespace

collectives::Problem problem_of(const Call& call, Job& job) {
    require_known("the collective", static_cast<int>(call.collective), last_collective);
    require_known("the dtype", static_cast<int>(call.dtype), last_dtype);
    require_known("the op", static_cast<int>(call.op), last_op);
    collectives::Problem problem;
    problem.collective = static_cast<collectives::Collective>(call.collective);
    problem.count = call.count;
    problem.dtype = static_cast<core::DType>(call.dtype);
    problem.op = static_cast<core::Op>(call.op);
    problem.root = call.root;
    problem.in_place = call.in_place;
    if (!has_amounts(problem.collective)) return problem;
    problem.amounts = job.amounts.of(call);
    if (problem.collective != collectives::Collective::send_recv) problem.count = 0;
    return problem;
}

}  // namespace attune::detail
