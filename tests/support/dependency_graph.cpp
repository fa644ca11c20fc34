#include "tests/support/dependency_graph.hpp"

#include <algorithm>
#include <tuple>

namespace attune::test {

namespace {

using namespace collectives;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b + 0x7f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

// Bytes [begin, end) of one memory: 0 user input or the one user buffer, 1 output, 2 scratch.
struct Range {
    int memory = 0;
    std::uint64_t begin = 0, end = 0;

    bool meets(const Range& other) const { return memory == other.memory && begin < other.end && other.begin < end; }
    bool operator==(const Range&) const = default;
    // A slice without elements is nowhere.
    std::uint64_t number() const { return begin == end ? 7 : mixed(mixed(static_cast<std::uint64_t>(memory), begin), end); }
};

struct Operand {
    bool message = false;
    Rank peer = -1;
    Range range;

    std::uint64_t number(int channel) const {
        return message ? mixed(mixed(1, static_cast<std::uint64_t>(peer)), static_cast<std::uint64_t>(channel)) : mixed(2, range.number());
    }
    bool operator==(const Operand&) const = default;
};

struct Node {
    bool is_send = false;
    bool scale = false;
    int channel = 0;
    std::uint64_t length = 0;
    Range range;                     // sent, or written
    std::vector<Operand> operands;   // of a fold; one message operand stands for the peer of a send
    std::vector<std::size_t> waits;  // nodes that must be over before (plans)
    std::uint64_t way = 0;           // how its messages travel and where they land (plans)

    bool same_work(const Node& other) const {
        return std::tie(is_send, scale, length, range, operands, way) ==
               std::tie(other.is_send, other.scale, other.length, other.range, other.operands, other.way);
    }
    bool moves_locally() const { return !is_send && !scale && operands.size() == 1 && !operands[0].message; }

    std::uint64_t label() const {
        std::vector<std::uint64_t> numbers;
        for (const Operand& operand : operands)
            numbers.push_back(operand.number(channel));
        if (numbers.size() > 1 && numbers[0] > numbers[1]) std::swap(numbers[0], numbers[1]);
        std::uint64_t number = mixed(mixed(is_send ? 3 : 4, scale ? 1 : 0), mixed(length, range.number()));
        for (const std::uint64_t operand : numbers)
            number = mixed(number, operand);
        return way == 0 ? number : mixed(number, way);
    }

    bool shares_fifo_with(const Node& other) const {
        if (is_send != other.is_send || channel != other.channel) return false;
        for (const Operand& a : operands) {
            for (const Operand& b : other.operands) {
                if (a.message && b.message && a.peer == b.peer) return true;
            }
        }
        return false;
    }

    template <typename Function>
    bool any_read(Function test) const {
        if (is_send) return test(range);
        return std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) { return !operand.message && test(operand.range); });
    }
};

struct Order {
    bool after_sends = true;  // a write comes after the earlier sends that read what it writes
};

bool conflict(const Node& earlier, const Node& later, const Order& order) {
    const auto meets = [](const Range& range) { return [&range](const Range& read) { return read.meets(range); }; };
    const bool reads_written = !earlier.is_send && later.any_read(meets(earlier.range));
    const bool writes_written = !earlier.is_send && !later.is_send && earlier.range.meets(later.range);
    // Messages without bytes only carry that their sender came so far: a send tells of all receives before it.
    const bool tells = !earlier.is_send && later.is_send && earlier.length == 0 && later.length == 0;
    const bool writes_read = !later.is_send && (!earlier.is_send || order.after_sends) && earlier.any_read(meets(later.range));
    return reads_written || writes_written || writes_read || tells;
}

// A copy that repeats the one right before it changes nothing.
void drop_repeated_copies(std::vector<Node>& nodes) {
    for (std::size_t i = nodes.size(); i-- > 1;) {
        const bool repeats = nodes[i].moves_locally() && nodes[i].channel == nodes[i - 1].channel && nodes[i].same_work(nodes[i - 1]);
        if (!repeats) continue;
        nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i));
        for (Node& node : nodes) {
            for (std::size_t& wait : node.waits)
                wait -= wait > i ? 1 : 0;
        }
    }
}

// Which earlier nodes come before each node, also through others.
class Ancestors {
public:
    explicit Ancestors(std::size_t nodes) : words_((nodes + 63) / 64), bits_(nodes * words_, 0) {}
    bool contains(std::size_t node, std::size_t other) const { return (bits_[node * words_ + other / 64] >> (other % 64) & 1) != 0; }
    void inherit(std::size_t node, std::size_t from) {
        if (contains(node, from)) return;
        for (std::size_t word = 0; word < words_; ++word)
            bits_[node * words_ + word] |= bits_[from * words_ + word];
        bits_[node * words_ + from / 64] |= std::uint64_t{1} << (from % 64);
    }

private:
    std::size_t words_;
    std::vector<std::uint64_t> bits_;
};

void find_ancestors(const std::vector<Node>& nodes, std::size_t node, const Order& order, Ancestors& ancestors) {
    for (std::size_t other = node; other-- > 0;) {  // the nearest first: they bring most of the others
        if (nodes[other].channel != nodes[node].channel || ancestors.contains(node, other)) continue;
        if (nodes[other].shares_fifo_with(nodes[node]) || conflict(nodes[other], nodes[node], order)) ancestors.inherit(node, other);
    }
    for (const std::size_t wait : nodes[node].waits) {
        if (wait < node) ancestors.inherit(node, wait);
    }
}

// Labels of what touches the same elements on other channels: in no order, yet not independent.
std::vector<std::uint64_t> conflicts_elsewhere(const std::vector<Node>& nodes, std::size_t node) {
    std::vector<std::uint64_t> labels;
    for (const Node& other : nodes) {
        if (other.channel == nodes[node].channel) continue;
        if (conflict(other, nodes[node], {true}) || conflict(nodes[node], other, {true})) labels.push_back(other.label());
    }
    std::ranges::sort(labels);
    return labels;
}

// Nodes stand in program order of each channel. Every node's number covers its ancestors' numbers, so equal numbers mean equal histories.
std::vector<std::uint64_t> form_of(std::vector<Node> nodes, const Order& order) {
    drop_repeated_copies(nodes);
    Ancestors ancestors(nodes.size());
    std::vector<std::uint64_t> numbers(nodes.size(), 0);
    std::vector<std::uint64_t> before;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        find_ancestors(nodes, node, order, ancestors);
        before.clear();
        for (std::size_t other = 0; other < node; ++other) {
            if (ancestors.contains(node, other)) before.push_back(numbers[other]);
        }
        std::ranges::sort(before);
        numbers[node] = nodes[node].label();
        for (const std::uint64_t number : before)
            numbers[node] = mixed(numbers[node], number);
        for (const std::uint64_t number : conflicts_elsewhere(nodes, node))
            numbers[node] = mixed(mixed(numbers[node], 5), number);
    }
    std::ranges::sort(numbers);
    return numbers;
}

std::vector<std::uint64_t> malformed(std::uint64_t detail) {
    return {0, mixed(6, detail)};
}

Range range_in(const Problem& problem, Rank rank, BufferId buffer, std::uint64_t offset, std::uint64_t length) {
    int memory = static_cast<int>(buffer);
    std::uint64_t shift = 0;
    if (problem.in_place && buffer == BufferId::output) {
        memory = 0;
        shift = in_place_output_offset(problem, rank);
    } else if (problem.in_place && buffer == BufferId::input) {
        shift = in_place_input_offset(problem, rank);
    }
    return {memory, shift + offset, shift + offset + length};
}

}  // namespace

std::vector<std::uint64_t> dependency_form(const Problem& problem, const Schedule& schedule) {
    std::vector<Node> nodes;
    for (std::size_t index = 0; index < schedule.steps.size(); ++index) {
        const Step& step = schedule.steps[index];
        const Range source = range_in(problem, schedule.rank, step.source, step.source_offset, step.length);
        const Range target = range_in(problem, schedule.rank, step.destination, step.destination_offset, step.length);
        const bool is_send = step.kind == StepKind::send;
        const bool fits = step.joined == (step.kind == StepKind::reduce || (step.joined && (step.kind == StepKind::recv || step.kind == StepKind::scale)));
        if (!fits) return malformed(index);
        if (step.joined) {
            const bool joins = !nodes.empty() && !nodes.back().is_send && nodes.back().range == target && nodes.back().channel == step.channel;
            if (!joins) return malformed(index);
        } else {
            nodes.push_back({is_send, false, step.channel, step.length, is_send ? source : target, {}, {}});
        }
        if (step.kind == StepKind::scale) {
            nodes.back().scale = true;
        } else {
            const bool message = is_send || step.kind == StepKind::recv;
            nodes.back().operands.push_back({message, message ? step.peer : -1, message ? Range{} : source});
        }
    }
    return form_of(std::move(nodes), {true});
}

namespace {

// 0 for what its length alone decides.
std::uint64_t way_of(const Plan& plan, const Operation& operation) {
    if (!is_direct(operation.protocol)) return 0;
    const std::uint64_t way = mixed(8, static_cast<std::uint64_t>(operation.protocol));
    if (operation.protocol != Protocol::cma_put || operation.kind != OperationKind::send || operation.first_peer >= plan.remotes.size()) return way;
    const RemoteSlice& slice = plan.remotes[operation.first_peer];
    return mixed(mixed(way, static_cast<std::uint64_t>(slice.memory)), slice.offset);
}

// What is known of the buffers is known on each lane once, in no order.
void add_posts(const Plan& plan, std::vector<std::uint64_t>& form) {
    for (const Post& post : plan.posts)
        form.push_back(mixed(mixed(9, static_cast<std::uint64_t>(post.peer)), post.channel));
    std::ranges::sort(form);
    form.erase(std::unique(form.begin(), form.end()), form.end());
}

}  // namespace

std::vector<std::uint64_t> dependency_form(const Plan& plan) {
    std::vector<Node> nodes;
    std::vector<std::vector<std::size_t>> nodes_of(plan.operations.size());
    const int larger_only = plan.problem.in_place ? 0 : 1;  // in place both names mean the one buffer
    const auto memory = [&](Memory name) { return name == Memory::output ? larger_only : static_cast<int>(name); };
    for (std::size_t index = 0; index < plan.operations.size(); ++index) {
        const Operation& operation = plan.operations[index];
        const Range range{memory(operation.memory), operation.offset, operation.offset + operation.length};
        const bool is_send = operation.kind == OperationKind::send;
        if (index < plan.channel_begin[operation.channel] || index >= plan.channel_begin[operation.channel + 1u]) return malformed(index);
        Node node{is_send, operation.scale, operation.channel, operation.length, range, {}, {}, way_of(plan, operation)};
        for (std::uint32_t i = 0; is_send && i < operation.peer_count; ++i) {
            node.operands = {{true, plan.peers[operation.first_peer + i], {}}};
            nodes_of[index].push_back(nodes.size());
            nodes.push_back(node);
        }
        if (is_send) continue;
        for (std::uint32_t i = 0; i < operation.source_count; ++i) {
            const Source& source = plan.sources[operation.first_source + i];
            const Range read{memory(source.memory), source.offset, source.offset + operation.length};
            node.operands.push_back({source.message, source.message ? source.peer : -1, source.message ? Range{} : read});
        }
        for (std::uint32_t i = 0; i < operation.hazard_count; ++i) {
            const std::uint32_t hazard = plan.hazards[operation.first_hazard + i];
            if (hazard >= index) return malformed(index);
            node.waits.insert(node.waits.end(), nodes_of[hazard].begin(), nodes_of[hazard].end());
        }
        nodes_of[index].push_back(nodes.size());
        nodes.push_back(node);
    }
    std::vector<std::uint64_t> form = form_of(std::move(nodes), {false});
    if (!plan.posts.empty()) add_posts(plan, form);
    return form;
}

}  // namespace attune::test
