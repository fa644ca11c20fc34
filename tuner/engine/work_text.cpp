#include "tuner/engine/work_text.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <charconv>
#include <string>

namespace attune::tuner::engine {

namespace {

constexpr std::size_t problem_fields = 9;
constexpr std::size_t amounts_fields = 8;

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

std::string print_numbers(const std::vector<std::uint64_t>& numbers) {
    std::string text;
    for (const std::uint64_t number : numbers)
        text += (text.empty() ? "" : ",") + std::to_string(number);
    return text.empty() ? "-" : text;
}

std::vector<std::uint64_t> parse_numbers(const std::string& text) {
    std::vector<std::uint64_t> numbers;
    if (text == "-") return numbers;
    for (const std::string& field : core::split(text, ','))
        numbers.push_back(number<std::uint64_t>(field));
    return numbers;
}

// A transfer is five numbers; a rank of -1 (a view) is written as 0, others one higher.
std::vector<std::uint64_t> flat(const std::vector<collectives::Transfer>& transfers) {
    std::vector<std::uint64_t> numbers;
    for (const collectives::Transfer& t : transfers)
        numbers.insert(numbers.end(), {t.is_send ? 1u : 0u, static_cast<std::uint64_t>(t.peer), t.count, t.offset, static_cast<std::uint64_t>(t.rank + 1)});
    return numbers;
}

std::vector<collectives::Transfer> transfers_of(const std::vector<std::uint64_t>& numbers) {
    if (numbers.size() % 5 != 0) refuse("transfers");
    std::vector<collectives::Transfer> transfers;
    for (std::size_t i = 0; i < numbers.size(); i += 5)
        transfers.push_back({numbers[i] != 0, static_cast<int>(numbers[i + 1]), numbers[i + 2], numbers[i + 3], static_cast<int>(numbers[i + 4]) - 1});
    return transfers;
}

std::string print_amounts(const collectives::Problem& problem) {
    if (!problem.amounts) return "-";
    const collectives::Amounts& a = *problem.amounts;
    std::string text;
    for (const auto* list : {&a.send, &a.receive, &a.send_offsets, &a.receive_offsets, &a.matrix})
        text += print_numbers(*list) + ' ';
    return text + std::to_string(a.destination) + ' ' + std::to_string(a.source) + ' ' + print_numbers(flat(a.transfers));
}

std::shared_ptr<const collectives::Amounts> parse_amounts(const std::string& line) {
    if (line == "-") return nullptr;
    const std::vector<std::string> fields = core::split(line, ' ');
    if (fields.size() != amounts_fields) refuse(line);
    auto amounts = std::make_shared<collectives::Amounts>();
    std::size_t next = 0;
    for (auto* list : {&amounts->send, &amounts->receive, &amounts->send_offsets, &amounts->receive_offsets, &amounts->matrix})
        *list = parse_numbers(fields[next++]);
    amounts->destination = number<int>(fields[5]);
    amounts->source = number<int>(fields[6]);
    amounts->transfers = transfers_of(parse_numbers(fields[7]));
    return amounts;
}

}  // namespace

std::string print_work(const Work& work) {
    const collectives::Problem& p = work.problem;
    std::string text = std::string(collectives::name_of(p.collective)) + ' ' + std::to_string(p.ranks) + ' ' + std::to_string(p.count) + ' ' +
                       std::string(core::name_of(p.dtype)) + ' ' + std::string(core::name_of(p.op)) + ' ' + std::to_string(p.root) + ' ' +
                       (p.in_place ? "in" : "out") + ' ' + (p.node_map.empty() ? "-" : p.node_map) + (work.and_back ? " back" : " once") + '\n' +
                       print_amounts(p);
    for (const core::Config& config : work.configs)
        text += '\n' + config.text();
    return text;
}

Work parse_work(std::string_view text) {
    const std::vector<std::string> lines = core::split(text, '\n');
    if (lines.size() < 2) refuse(text);
    Work work;
    work.problem = parse_problem(lines[0]);
    work.problem.amounts = parse_amounts(lines[1]);
    work.and_back = lines[0].ends_with(" back");
    for (std::size_t i = 2; i < lines.size(); ++i)
        work.configs.push_back(core::Config::parse(lines[i]));
    return work;
}

}  // namespace attune::tuner::engine
