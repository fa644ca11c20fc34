// From a problem to a started call: cached or compiled, checked, digested, timed.
#include "collectives/amounts.hpp"
#include "collectives/call_text.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/communicator_state.hpp"
#include "collectives/default_config.hpp"
#include "libcore/clock.hpp"
#include "libcore/crypto.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;

[[noreturn]] void refuse(const std::string& message) {
    throw Error(ErrorCode::usage, message);
}

// What every rank counts alike.
std::uint64_t elements_of(const Problem& problem) {
    const bool counted_by_amounts = has_amounts(problem.collective) && problem.collective != Collective::send_recv && amounts_known_to_all(problem);
    if (!counted_by_amounts) return problem.count;
    return problem.bytes() / core::size_of(problem.dtype);
}

// Of the amounts that all ranks pass alike; their places in the buffers are each rank's own.
std::uint64_t digest_of_amounts(const Problem& problem) {
    if (!has_amounts(problem.collective) || !amounts_known_to_all(problem)) return 0;
    const Amounts& amounts = *problem.amounts;
    std::uint64_t digest = 0;
    for (const std::vector<std::uint64_t>* counts : {&amounts.send, &amounts.receive, &amounts.matrix}) {
        const bool own = counts != &amounts.matrix && !amounts.matrix.empty();  // row and column beside a matrix
        if (!own) digest = digest * 31 + core::digest64(std::as_bytes(std::span(*counts)));
    }
    return digest;
}

// "broadcast 1024 float32 root 3 in place, algorithm=linear,...": what people read when calls differ.
std::string text_of_call(const Problem& problem, const std::string& config) {
    std::string text(name_of(problem.collective));
    if (problem.collective != Collective::barrier) text += fmt::format(" {} {}", elements_of(problem), core::name_of(problem.dtype));
    if (reduces(problem.collective)) text += fmt::format(" {}", core::name_of(problem.op));
    if (is_rooted(problem.collective)) text += fmt::format(" root {}", problem.root);
    if (problem.in_place) text += " in place";
    if (const std::uint64_t digest = digest_of_amounts(problem); digest != 0) text += fmt::format(" amounts {:08x}", digest & 0xffffffff);
    return text + ", " + config;
}

void check_problem(const Problem& problem, const core::Config& config, const Transport& transport) {
    const int channels = transport.channels();
    const auto ranks = static_cast<std::uint64_t>(problem.ranks);
    constexpr std::uint64_t limit = std::uint64_t{1} << 62;
    if (problem.count > limit / core::size_of(problem.dtype) / ranks)
        refuse(fmt::format("{} of {} elements on {} ranks is larger than any memory", name_of(problem.collective), problem.count, problem.ranks));
    if (const auto reason = reject(problem, config)) refuse(fmt::format("{}: {}", name_of(problem.collective), *reason));
    const std::uint64_t wanted = config.number("channels", 1);
    if (wanted > static_cast<std::uint64_t>(channels))
        refuse(fmt::format("{} with channels={}: this communicator was made with {}", name_of(problem.collective), wanted, channels));
    if (const auto reason = lacks_direct_copies(config, transport.direct_refusal()))
        refuse(fmt::format("{} with protocol={}: {}; use staged", name_of(problem.collective), *config.get("protocol"), *reason));
    if (const auto reason = lacks_streams(config, transport.streams())) refuse(fmt::format("{} with {}", name_of(problem.collective), *reason));
}

// std::less gives a total order of unrelated pointers.
bool overlap(const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) noexcept {
    const auto* first = static_cast<const std::byte*>(a);
    const auto* second = static_cast<const std::byte*>(b);
    if (a_bytes == 0 || b_bytes == 0) return false;
    const std::less<> before;
    return before(first, second + b_bytes) && before(second, first + a_bytes);
}

void check_buffers(const CachedCall& call, const void* input, const void* output) {
    if (call.in_place && input != output) refuse(fmt::format("{}: in place there is one buffer, but input and output differ", call.text));
    if ((input == nullptr && call.input_bytes > 0) || (output == nullptr && call.output_bytes > 0)) refuse(fmt::format("{}: a buffer is null", call.text));
    if (!call.in_place && overlap(input, call.input_bytes, output, call.output_bytes))
        refuse(fmt::format("{}: input and output overlap; use the in-place form with one buffer", call.text));
}

void set_buffer_sizes(CachedCall& call, const Problem& problem, Rank rank) {
    const std::uint64_t element = core::size_of(problem.dtype);
    call.in_place = problem.in_place;
    call.input_bytes = (problem.in_place ? problem.in_place_elements() : problem.input_elements(rank)) * element;
    call.output_bytes = (problem.in_place ? problem.in_place_elements() : problem.output_elements(rank)) * element;
}

}  // namespace

Choice explicit_choice(const core::Config& config) {
    return {.config = config, .source = ChoiceSource::forced, .row = {}, .reason = "explicit"};
}

Problem Communicator::State::complete(Problem problem) const {
    problem.ranks = transport->size();
    problem.node_map = facts.chooser.node_map;
    if (!is_rooted(problem.collective)) problem.root = 0;
    if (!reduces(problem.collective)) problem.op = core::Op::sum;
    return problem;
}

CachedCall Communicator::State::make_call(const Problem& problem, const core::Config& config, std::uint32_t number, const Choice& choice) {
    check_problem(problem, config, *transport);
    CachedCall call;
    call.config = config.text();
    call.text = text_of_call(problem, call.config);
    const std::string identified = fmt::format("{} {} {}", facts.identity, call.text, digest_of_amounts(problem));
    call.digest = core::digest64(std::as_bytes(std::span(identified)));
    const Schedule schedule = generate(problem, config, transport->rank());
    // With private amounts a rank knows no schedule but its own.
    const auto peers = [&](Rank peer) { return generate(problem, config, peer); };
    const ScheduleOf schedule_of = schedules_known_to_all(problem) ? ScheduleOf(peers) : ScheduleOf{};
    call.plan = std::make_shared<const Plan>(compile(problem, schedule, compile_options(config, transport->fragment_bytes()), schedule_of));
    set_buffer_sizes(call, problem, transport->rank());
    call.bytes = problem.bytes();
    call.totals = &cache.totals(key_of_call(problem, number), problem, choice);
    return call;
}

const CachedCall& Communicator::State::chosen_call(const Problem& problem) {
    const CallKey key = key_of_call(problem, chooser_number_);
    if (const CachedCall* known = cache.find(key)) return *known;
    const Problem whole = complete(problem);
    const Choice choice = chooser->choose(whole);
    return *cache.insert(key, make_call(whole, choice.config, chooser_number_, choice));
}

const CachedCall& Communicator::State::explicit_call(const Problem& problem, const core::Config& config) {
    const std::uint32_t number = number_of(config);
    const CallKey key = key_of_call(problem, number);
    if (const CachedCall* known = cache.find(key)) return *known;
    return *cache.insert(key, make_call(complete(problem), config, number, explicit_choice(config)));
}

// Numbers start at 1.
std::uint32_t Communicator::State::number_of(const core::Config& config) {
    if (last_number_ != 0 && config == last_config_) return last_number_;
    const auto next = static_cast<std::uint32_t>(config_numbers_.size() + 1);
    last_number_ = config_numbers_.try_emplace(config.text(), next).first->second;
    last_config_ = config;
    return last_number_;
}

Ticket Communicator::State::launch(const CachedCall& call, const void* input, void* output) {
    check_buffers(call, input, output);
    if (options.check_calls) compare_calls(call);
    ++call.totals->calls;
    if (!timing_) return executor->start(call.plan, input, output, call.digest, call.text);
    const std::int64_t begin = core::now_ns();
    const Ticket ticket = executor->start(call.plan, input, output, call.digest, call.text);
    // Assigned piece by piece: the room of the text is kept, so that a repeated call allocates nothing here either.
    Pending& pending = pending_[ticket.call % in_flight_slots];
    pending.call = ticket.call;
    pending.begin_ns = begin;
    pending.totals = call.totals;
    pending.config.assign(call.config);
    pending.bytes = call.bytes;
    return ticket;
}

void Communicator::State::finish(Ticket ticket) {
    executor->finish(ticket);
    finished(ticket);
}

void Communicator::State::finished(Ticket ticket) {
    Pending& pending = pending_[ticket.call % in_flight_slots];
    if (!timing_ || ticket.call == 0 || pending.call != ticket.call) return;
    const std::int64_t end = core::now_ns();
    pending.totals->timed_ns += end - pending.begin_ns;
    ++pending.totals->timed_calls;
    pending.call = 0;
    const Problem& problem = pending.totals->problem;
    if (options.trace != nullptr) options.trace->record({name_of(problem.collective), pending.config, pending.begin_ns, end, pending.bytes});
}

CachedCall Communicator::State::standard_call(Problem problem, std::string purpose) {
    const Problem whole = complete(std::move(problem));
    const core::Config config = default_config(whole, facts.chooser.topology);
    CachedCall call = make_call(whole, config, number_of(config), explicit_choice(config));
    call.text = std::move(purpose);
    return call;
}

// Set-up and checks are no calls of the user's: they are not counted.
void Communicator::State::run_uncounted(const CachedCall& call, const void* input, void* output) {
    executor->count_calls(false);
    const Ticket ticket = executor->start(call.plan, input, output, call.digest, call.text);
    executor->count_calls(true);
    executor->finish(ticket);
}

void Communicator::State::broadcast_bytes(void* bytes, std::uint64_t size) {
    Problem problem;
    problem.collective = Collective::broadcast;
    problem.dtype = core::DType::int64;
    problem.count = size / sizeof(std::int64_t);
    problem.in_place = true;
    run_uncounted(standard_call(problem, "the making of a communicator"), bytes, bytes);
}

void Communicator::State::all_gather_bytes(const void* own, void* all, std::uint64_t size) {
    Problem problem;
    problem.collective = Collective::all_gather;
    problem.dtype = core::DType::int64;
    problem.count = size / sizeof(std::int64_t);
    run_uncounted(standard_call(problem, "the making of a communicator"), own, all);
}

Exchange Communicator::State::exchange() {
    const auto words = [this](std::uint64_t word) {
        std::vector<std::uint64_t> all(static_cast<std::size_t>(transport->size()));
        all_gather_bytes(&word, all.data(), sizeof word);
        return all;
    };
    return {[this](void* bytes, std::uint64_t size) { broadcast_bytes(bytes, size); }, words};
}

void Communicator::State::compare_calls(const CachedCall& call) {
    CheckRecord own;
    own.digest = call.digest;
    fit_text(call.text, own.text);
    if (!check_call_) {
        Problem problem;
        problem.collective = Collective::all_gather;
        problem.dtype = core::DType::int64;
        problem.count = sizeof(CheckRecord) / sizeof(std::int64_t);
        check_call_ = standard_call(problem, "the comparison of calls (ATTUNE_CHECK=1)");
        checks_.resize(static_cast<std::size_t>(transport->size()));
    }
    run_uncounted(*check_call_, &own, checks_.data());
    for (std::size_t rank = 1; rank < checks_.size(); ++rank) {
        if (checks_[rank].digest == checks_.front().digest) continue;
        throw Error(ErrorCode::failure, fmt::format("{}{}ranks call different things: rank 0 calls {}; rank {} calls {}", label, label.empty() ? "" : ": ",
                                                    checks_.front().text, rank, static_cast<const char*>(checks_[rank].text)));
    }
}

CallStatistics Communicator::State::statistics() const {
    CallStatistics result;
    std::vector<CallStatistics::Problem_time> standard;
    for (const auto& [key, totals] : cache.all_totals()) {
        result.calls += totals.calls;
        if (totals.source == ChoiceSource::forced) result.forced += totals.calls;
        if (totals.source == ChoiceSource::tuned) (totals.match == Match::exact ? result.exact : result.interval) += totals.calls;
        if (totals.source != ChoiceSource::standard || totals.calls == 0) continue;
        result.none += totals.calls;
        // Calls whose end nobody asked for cost what the others did.
        const double mean = totals.timed_calls == 0 ? 0 : static_cast<double>(totals.timed_ns) / static_cast<double>(totals.timed_calls);
        standard.push_back({totals.problem, mean * static_cast<double>(totals.calls) / 1e3, totals.calls});
    }
    const auto cost = [](const CallStatistics::Problem_time& entry) { return std::tuple(entry.total_us, entry.calls * entry.problem.bytes()); };
    std::ranges::sort(standard, std::ranges::greater{}, cost);
    if (standard.size() > 3) standard.resize(3);
    result.costliest_on_default = std::move(standard);
    return result;
}

}  // namespace attune::collectives
