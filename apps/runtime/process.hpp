// What all communicators of this process share, because the environment speaks about the process: one file of trace, one warning of a kind.
#pragma once

#include "collectives/execution/progress_family.hpp"
#include "libcore/log.hpp"
#include "libcore/trace.hpp"

#include <memory>
#include <optional>
#include <string>

namespace attune::detail {

// Whose calls move each other on: all of the process, thread by thread.
std::shared_ptr<collectives::ProgressFamily> process_family();
// A warning that was not given before by this process.
void warn_once(const core::Log& log, const std::string& line);
// One file per rank: "trace.json" becomes "trace.json.0". All communicators of the process that live together write to it; one made after the last of
// them ended gets "trace.json.0.1". Null without a path.
std::shared_ptr<core::TraceSink> open_trace(const std::optional<std::string>& path, int rank);

}  // namespace attune::detail
