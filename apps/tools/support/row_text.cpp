#include "apps/tools/support/row_text.hpp"

#include <fmt/format.h>

namespace attune::tools {

std::string gain_text(double gain, double low, double high) {
    return fmt::format("{:.2f}x [{:.2f},{:.2f}]", gain, low, high);
}

std::string gain_text(const core::TableRow& row) {
    return gain_text(row.gain, row.gain_low, row.gain_high);
}

std::string evidence_text(const db::Evidence& evidence) {
    return fmt::format("{} launches, {} blocks, noise floor {:.1f} %, p = {:.1e}, {} candidates{}, checked {}, {}", evidence.launches, evidence.blocks,
                       evidence.floor * 100, evidence.p_value, evidence.candidates, evidence.complete ? " (all)" : " (search not complete)",
                       evidence.verification.empty() ? "never" : evidence.verification, evidence.utc);
}

}  // namespace attune::tools
