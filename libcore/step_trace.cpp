#include "libcore/step_trace.hpp"

namespace attune::core {

namespace {

constexpr std::array<std::string_view, trace_kinds> kind_names = {"call", "post", "wait", "transfer", "reduce"};

}  // namespace

std::string_view name_of(TraceKind kind) noexcept {
    return kind_names[static_cast<std::size_t>(kind)];
}

StepTrace::StepTrace(StepSink& sink, const StepSource& source) : sink_(sink), source_(source), records_(capacity) {}

std::uint32_t StepTrace::number_of(std::string_view text) {
    const auto known = numbers_.find(text);
    if (known != numbers_.end()) return known->second;
    return numbers_.emplace(text, sink_.number_of(text)).first->second;
}

void StepTrace::flush() noexcept {
    if (count_ > 0) sink_.write(source_, records_.data(), count_);
    count_ = 0;
}

}  // namespace attune::core
