#include "collectives/communicator.hpp"

#include "collectives/communicator_state.hpp"
#include "collectives/kernels/fold.hpp"
#include "collectives/table_agreement.hpp"
#include "collectives/transport_factory.hpp"
#include "libcore/crypto.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <exception>
#include <numeric>

namespace attune::collectives {

namespace {

RankFacts rank_facts(Rank rank, const CommunicatorOptions& options) {
    RankFacts facts;
    facts.transport = options.transport;
    facts.channels = options.lanes.channels;
    facts.check_calls = options.check_calls;
    facts.forced = text_of(options.forced);
    facts.databases = options.databases;
    facts.node_map = options.node_map;
    facts.host = this_host();
    facts.cpus = core::allowed_cpus();
    facts.launch_cpus = options.launch_cpus;
    facts.instruction_set = kernel_instruction_set();
    if (options.execution.family) facts.next_number = options.execution.family->next_number();
    facts.traced = options.trace != nullptr;
    if (rank != 0) return facts;
    facts.topology = options.topology ? *options.topology : core::discover_topology();
    core::random_bytes(std::as_writable_bytes(std::span(&facts.identity, 1)));
    return facts;
}

TransportOptions lanes_for(const CommunicatorOptions& options, const TeamFacts& facts) {
    TransportOptions lanes = options.lanes;
    lanes.oversubscribed = lanes.oversubscribed || facts.oversubscribed;
    if (!lanes.network.warn) lanes.network.warn = [log = options.log](const std::string& message) { log.warn(message); };
    return lanes;
}

// Short enough for one line of a message.
std::string label_of(std::uint64_t number, const std::vector<Rank>& ranks) {
    constexpr std::size_t longest = 16;
    if (number == 1) return {};
    if (ranks.size() <= longest) return fmt::format("communicator {} of ranks {}", number, fmt::join(ranks, ","));
    return fmt::format("communicator {} of ranks {},... ({} of them)", number, fmt::join(ranks.begin(), ranks.begin() + longest, ","), ranks.size());
}

}  // namespace

Communicator::State::State(CommunicatorOptions given, TeamFacts agreed, std::unique_ptr<Transport> made, std::vector<Rank> ranks)
    : options(std::move(given)), facts(std::move(agreed)), transport(std::move(made)), first_ranks(std::move(ranks)) {
    if (first_ranks.empty()) {
        first_ranks.resize(static_cast<std::size_t>(transport->size()));
        std::iota(first_ranks.begin(), first_ranks.end(), 0);
    }
    facts.chooser.direct_refusal = transport->direct_refusal();
    facts.chooser.streams = transport->streams();
    label = label_of(facts.number, first_ranks);
    if (!options.execution.family) options.execution.family = std::make_shared<ProgressFamily>();
    options.execution.family->reserve_numbers_below(facts.number + 1);
    timing_ = (options.trace != nullptr && options.trace->wants_calls()) || options.log.level() >= core::LogLevel::info;
    ExecutorOptions execution = options.execution;
    execution.label = label;
    if (!execution.warn) execution.warn = [log = options.log](const std::string& message) { log.warn(message); };
    if (options.trace != nullptr)
        steps = options.trace->open_steps({facts.identity, static_cast<std::uint32_t>(transport->rank()), static_cast<std::uint32_t>(transport->size())});
    execution.steps = steps.get();
    executor = std::make_unique<Executor>(*transport, std::move(execution));
}

Communicator::State::~State() {
    if (!executor || std::uncaught_exceptions() > 0) return;
    try {
        if (const std::string line = executor->left_over(); !line.empty()) options.log.error(line);
    } catch (const std::exception&) {
        // The end of the communicator matters more than the line about it.
    }
}

void Communicator::State::notice(const std::string& line) const {
    options.notice ? options.notice(line) : options.log.warn(line);
}

void Communicator::State::print_warnings(const TableResult& result) const {
    if (transport->rank() != 0) return;
    for (const std::string& warning : result.warnings)
        notice(warning);
}

void Communicator::State::use_table(TableResult result) {
    print_warnings(result);
    origin = std::move(result.origin);
    use(std::make_shared<const Chooser>(facts.chooser, std::move(result.table), options.forced));
}

void Communicator::State::use(std::shared_ptr<const Chooser> next) {
    chooser = std::move(next);
    ++chooser_number_;
}

Communicator::Communicator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Communicator::~Communicator() = default;

Communicator::Communicator(Bootstrap& bootstrap, CommunicatorOptions options) {
    if (!options.transport.empty()) require_transport_name(options.transport);
    TeamFacts facts = agree_on_facts(bootstrap, rank_facts(bootstrap.rank(), options));
    std::unique_ptr<Transport> transport = make_transport(bootstrap, facts.chooser.transport, lanes_for(options, facts), facts.nodes);
    state_ = std::make_unique<State>(std::move(options), std::move(facts), std::move(transport));
    State& state = *state_;
    state.address = bootstrap.address();
    state.secret = bootstrap.secret();
    if (bootstrap.rank() == 0 && !state.facts.other_databases.empty()) state.notice(state.facts.other_databases);
    state.use_table(agree_on_table(bootstrap.rank(), state.options.table_source, state.exchange()));
    state.compare_clocks();
}

std::vector<std::unique_ptr<Communicator>> Communicator::make_local(int ranks, const CommunicatorOptions& options) {
    if (ranks < 1) throw core::Error(core::ErrorCode::usage, fmt::format("{} ranks make no team; at least 1 is needed", ranks));
    CommunicatorOptions local = options;
    local.transport = "local";
    TeamFacts facts = combine(std::vector<RankFacts>(static_cast<std::size_t>(ranks), rank_facts(0, local)));
    facts.oversubscribed = static_cast<std::size_t>(ranks) > core::allowed_cpus().cpus.size();
    facts.chooser.binding = options.bound ? "bound" : "unbound";
    TableResult table = run_table_source(options.table_source);
    throw_if_fatal(table);
    auto transports = make_local_transports(ranks, lanes_for(local, facts));
    std::vector<std::unique_ptr<Communicator>> communicators;
    for (auto& transport : transports) {
        auto state = std::make_unique<State>(local, facts, std::move(transport));
        state->use_table(table);
        communicators.push_back(std::unique_ptr<Communicator>(new Communicator(std::move(state))));
    }
    return communicators;
}

Rank Communicator::rank() const noexcept {
    return state_->transport->rank();
}
int Communicator::size() const noexcept {
    return state_->transport->size();
}

const std::string& Communicator::label() const noexcept {
    return state_->label;
}
std::uint64_t Communicator::number() const noexcept {
    return state_->facts.number;
}

std::unique_ptr<Communicator> Communicator::split(int color, int key) {
    return state_->split(color, key);
}
std::unique_ptr<Communicator> Communicator::dup() {
    return state_->split(0, rank());
}

Ticket Communicator::start(Problem problem, const void* input, void* output) {
    return state_->launch(state_->chosen_call(problem), input, output);
}

Ticket Communicator::start(Problem problem, const core::Config& config, const void* input, void* output) {
    return state_->launch(state_->explicit_call(problem, config), input, output);
}

PreparedCall Communicator::prepare(Problem problem, const core::Config& config) {
    const Problem whole = state_->complete(std::move(problem));
    PreparedCall prepared;
    prepared.call_ = std::make_shared<const CachedCall>(state_->make_call(whole, config, state_->number_of(config), explicit_choice(config)));
    return prepared;
}

void Communicator::compile_ahead(const Problem& problem) {
    state_->chosen_call(problem);
}

PreparedCall Communicator::prepare(Problem problem) {
    PreparedCall prepared;
    prepared.call_ = std::make_shared<const CachedCall>(state_->chosen_call(problem));
    return prepared;
}

Ticket Communicator::start(const PreparedCall& call, const void* input, void* output) {
    return state_->launch(*call.call_, input, output);
}

bool Communicator::done(Ticket ticket) {
    const bool done = state_->executor->done(ticket);
    if (done) state_->finished(ticket);
    return done;
}

void Communicator::wait(Ticket ticket) {
    state_->executor->wait(ticket);
    state_->finished(ticket);
}

void Communicator::pass() {
    state_->executor->pass();
}

void Communicator::run(const PreparedCall& call, const void* input, void* output) {
    state_->finish(start(call, input, output));
}

void Communicator::run(const Problem& problem, const void* input, void* output) {
    state_->finish(state_->launch(state_->chosen_call(problem), input, output));
}

void Communicator::run(const Problem& problem, const core::Config& config, const void* input, void* output) {
    state_->finish(state_->launch(state_->explicit_call(problem, config), input, output));
}

Choice Communicator::choice(Problem problem) const {
    return state_->chooser->choose(state_->complete(std::move(problem)));
}
Problem Communicator::complete(Problem problem) const {
    return state_->complete(std::move(problem));
}

void Communicator::load_table(const TableSource& source) {
    State& state = *state_;
    TableResult result = agree_on_table(rank(), source, state.exchange());
    state.print_warnings(result);
    state.origin = std::move(result.origin);
    state.use(std::make_shared<const Chooser>(state.chooser->with_table(std::move(result.table))));
}

void Communicator::forget_table() {
    state_->origin.clear();
    state_->use(std::make_shared<const Chooser>(state_->chooser->with_table({})));
}

void Communicator::apply(const Problem& problem, const core::Config& config, double gain) {
    const Problem whole = state_->complete(problem);
    ProvenChoice proven{exact_key_of(whole, state_->facts.chooser), whole.key_bytes(), config, gain};
    state_->use(std::make_shared<const Chooser>(state_->chooser->with_proven(std::move(proven))));
}

std::unique_ptr<Bootstrap> Communicator::make_bootstrap() {
    std::vector<Rank> all(static_cast<std::size_t>(size()));
    std::iota(all.begin(), all.end(), 0);
    return std::make_unique<GroupBootstrap>(state_->as_parent(), std::move(all));
}

const CommunicatorOptions& Communicator::options() const noexcept {
    return state_->options;
}

const Chooser& Communicator::chooser() const noexcept {
    return *state_->chooser;
}
const std::string& Communicator::table_origin() const noexcept {
    return state_->origin;
}
CallStatistics Communicator::statistics() const {
    return state_->statistics();
}
Transport& Communicator::transport() noexcept {
    return *state_->transport;
}

}  // namespace attune::collectives
