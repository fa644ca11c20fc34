// The results of a sweep as the nccl-tests table, as attune.bench/1 and as CSV.
#pragma once

#include "apps/tools/bench/sweep.hpp"
#include "apps/tools/support/json.hpp"

#include <string>
#include <vector>

namespace attune::tools::bench {

// "# ..." lines: ranks, transport, machine, database, warnings.
std::string header_text(const Options& options, const Machine& machine, int ranks);
std::vector<std::string> warnings_of(const Options& options, const Machine& machine, int ranks);

// Column titles for the forms asked for; printed once per collective.
std::string titles_text(const Options& options, collectives::Collective collective);
std::string line_text(const Options& options, const Line& line);
std::string footer_text(const Options& options, const Totals& totals);
// The lines as tables for a README or an issue, one for each collective; the header and the footer as text around them.
std::string markdown_text(const Options& options, const Machine& machine, const std::vector<Line>& lines);
// One line for standard error: how many calls failed, and why the first did.
std::string failure_text(const Totals& totals);

Json bench_json(const Options& options, const Machine& machine, const std::vector<Line>& lines);
std::string csv_titles();
std::string csv_text(const Line& line);
// Quoted when it must be (RFC 4180).
std::string csv_field(const std::string& text);

}  // namespace attune::tools::bench
