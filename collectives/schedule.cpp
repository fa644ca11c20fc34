#include "collectives/schedule.hpp"

#include <array>
#include <string_view>

namespace attune::collectives {

namespace {

constexpr std::array<std::string_view, 5> kinds = {"send", "recv", "reduce", "copy", "scale"};
constexpr std::array<std::string_view, 3> buffers = {"input", "output", "scratch"};

// Steps that are being refused may hold anything.
template <std::size_t size>
std::string name_in(const std::array<std::string_view, size>& names, std::size_t index) {
    return index < size ? std::string(names[index]) : "?" + std::to_string(index);
}

std::string slice_text(BufferId buffer, std::uint64_t offset, std::uint64_t length) {
    return name_in(buffers, static_cast<std::size_t>(buffer)) + "[" + std::to_string(offset) + "," + std::to_string(offset + length) + ")";
}

}  // namespace

std::string describe(const Step& step) {
    std::string text = step.joined ? "joined " : "";
    text += name_in(kinds, static_cast<std::size_t>(step.kind));
    if (step.kind == StepKind::send || step.kind == StepKind::recv) text += " " + std::to_string(step.peer);
    const bool reads = step.kind == StepKind::send || step.kind == StepKind::reduce || step.kind == StepKind::copy;
    if (reads) text += " " + slice_text(step.source, step.source_offset, step.length);
    if (reads && step.kind != StepKind::send) text += " ->";
    if (step.kind != StepKind::send) text += " " + slice_text(step.destination, step.destination_offset, step.length);
    return text + " ch" + std::to_string(step.channel);
}

}  // namespace attune::collectives
