// The bootstrap that belongs to how this process was started.
#pragma once

#include "collectives/bootstrap.hpp"
#include "libcore/environment.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace attune::collectives {

struct JobStart {
    core::Environment environment;
    std::optional<core::ForeignLaunch> foreign;
};
// Both from this process's environment. Throws Error(usage).
JobStart read_job_start();

// Whether this process is one of several ranks that somebody started.
bool started_as_rank(const JobStart& start) noexcept;

// Our launcher's, else a meeting by TCP when another launcher started us, else a team of one. Throws Error(usage), Error(failure). `warn` gets a line
// about each stranger and may be empty.
std::unique_ptr<Bootstrap> make_job_bootstrap(const JobStart& start, std::chrono::milliseconds patience, std::function<void(const std::string&)> warn);

}  // namespace attune::collectives
