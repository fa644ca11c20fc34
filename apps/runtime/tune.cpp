// Tuning while the job runs: the one place where the runtime meets the tuner.
#include "tuner/live_tune.hpp"

#include "apps/runtime/translate.hpp"

namespace attune {

Tuned Communicator::tune(const Call& call, std::chrono::seconds budget) {
    if (budget.count() <= 0) throw Error(2, "tuning for " + std::to_string(budget.count()) + " s finds nothing; give at least 1 s");
    tuner::LiveTuneOptions options;
    options.budget_ns = std::chrono::nanoseconds(budget).count();
    const tuner::LiveTuneResult found = detail::translated([&] {
        detail::Job& job = detail::job_of(job_);
        return tuner::tune_live(*job.team, detail::problem_of(call, job), options);
    });
    Tuned tuned;
    tuned.applied = found.proven;
    tuned.config = found.config.text();
    tuned.baseline = found.baseline.text();
    tuned.gain = found.gain, tuned.gain_low = found.low, tuned.gain_high = found.high;
    tuned.candidates = found.candidates, tuned.measured = found.measured, tuned.blocks = found.blocks;
    tuned.seconds = found.seconds;
    tuned.reason = found.reason;
    return tuned;
}

}  // namespace attune
