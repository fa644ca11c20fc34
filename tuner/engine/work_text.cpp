#include "tuner/engine/work_text.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <charconv>
#include <string>

namespace attune::tuner::engine {

namespace {

constexpr std::size_t problem_fields = 8;

[[noreturn]] void refuse(std::string_view text) {
    throw core::Error(core::ErrorCode::failure, "an arena rank got work it cannot read: '" + std::string(text.substr(0, 80)) + "'");
}

template <class Number>
Number number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) refuse(text);
    return value;
}

collectives::Problem parse_problem(const std::string& line) {
    const std::vector<std::string> fields = core::split(line, ' ');
    if (fields.size() != problem_fields) refuse(line);
    collectives::Problem problem;
    problem.collective = collectives::parse_collective(fields[0]);
    problem.ranks = number<int>(fields[1]);
    problem.count = number<std::uint64_t>(fields[2]);
    problem.dtype = core::parse_dtype(fields[3]);
    problem.op = core::parse_op(fields[4]);
    problem.root = number<int>(fields[5]);
    problem.in_place = fields[6] == "in";
    problem.node_map = fields[7] == "-" ? std::string() : fields[7];
    return problem;
}

}  // namespace

std::string print_work(const Work& work) {
    const collectives::Problem& p = work.problem;
    std::string text = std::string(collectives::name_of(p.collective)) + ' ' + std::to_string(p.ranks) + ' ' + std::to_string(p.count) + ' ' +
                       std::string(core::name_of(p.dtype)) + ' ' + std::string(core::name_of(p.op)) + ' ' + std::to_string(p.root) + ' ' +
                       (p.in_place ? "in" : "out") + ' ' + (p.node_map.empty() ? "-" : p.node_map);
    for (const core::Config& config : work.configs)
        text += '\n' + config.text();
    return text;
}

Work parse_work(std::string_view text) {
    const std::vector<std::string> lines = core::split(text, '\n');
    if (lines.empty()) refuse(text);
    Work work;
    work.problem = parse_problem(lines[0]);
    for (std::size_t i = 1; i < lines.size(); ++i)
        work.configs.push_back(core::Config::parse(lines[i]));
    return work;
}

}  // namespace attune::tuner::engine
