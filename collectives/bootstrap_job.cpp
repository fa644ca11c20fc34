#include "collectives/bootstrap_job.hpp"

#include "collectives/bootstrap_tcp.hpp"
#include "libcore/error.hpp"

#include <utility>

namespace attune::collectives {

JobStart read_job_start() {
    return {core::read_environment(), core::read_foreign_launch()};
}

bool started_as_rank(const JobStart& start) noexcept {
    return start.environment.rank.has_value() || start.foreign.has_value();
}

std::unique_ptr<Bootstrap> make_job_bootstrap(const JobStart& start, std::chrono::milliseconds patience, std::function<void(const std::string&)> warn) {
    const core::Environment& environment = start.environment;
    // Our launcher's variables come together or not at all.
    if (environment.rank && environment.ranks && environment.launch_fd)
        return make_launcher_bootstrap(*environment.rank, *environment.ranks, *environment.launch_fd, patience);
    if (environment.rank || environment.ranks || environment.launch_fd)
        throw core::Error(core::ErrorCode::usage, "only some of ATTUNE_RANK, ATTUNE_RANKS and ATTUNE_LAUNCH_FD are set; they are set together by attune-run");
    if (!start.foreign) return std::move(make_local_bootstraps(1).front());
    TcpMeetingPoint where{start.foreign->rank, start.foreign->ranks, start.foreign->address, start.foreign->port, {}, std::move(warn), patience};
    if (environment.secret_file) where.secret = read_secret_file(*environment.secret_file);
    return make_tcp_bootstrap(where);
}

}  // namespace attune::collectives
