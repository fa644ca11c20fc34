#include "collectives/communicator.hpp"

#include "collectives/communicator_state.hpp"
#include "collectives/kernels/fold.hpp"
#include "collectives/table_agreement.hpp"
#include "libcore/crypto.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>

#include <exception>

namespace attune::collectives {

namespace {

RankFacts rank_facts(Rank rank, const CommunicatorOptions& options) {
    RankFacts facts;
    facts.transport = options.transport;
    facts.channels = options.lanes.channels;
    facts.check_calls = options.check_calls;
    facts.forced = text_of(options.forced);
    facts.databases = options.databases;
    facts.cpus = core::allowed_cpus();
    facts.launch_cpus = options.launch_cpus;
    facts.instruction_set = kernel_instruction_set();
    if (rank != 0) return facts;
    facts.topology = options.topology ? *options.topology : core::discover_topology();
    core::random_bytes(std::as_writable_bytes(std::span(&facts.identity, 1)));
    return facts;
}

void check_transport(const std::string& name) {
    const std::vector<std::string> known = {"local", "shm"};
    core::require_word("transport", name, known);
}

TransportOptions lanes_for(const CommunicatorOptions& options, const TeamFacts& facts) {
    TransportOptions lanes = options.lanes;
    lanes.oversubscribed = lanes.oversubscribed || facts.oversubscribed;
    return lanes;
}

// One rank has nobody to exchange with: memory of its own is enough for any transport.
std::unique_ptr<Transport> make_transport(Bootstrap& bootstrap, const CommunicatorOptions& options, const TeamFacts& facts) {
    const TransportOptions lanes = lanes_for(options, facts);
    if (bootstrap.size() == 1) return std::move(make_local_transports(1, lanes).front());
    if (options.transport == "shm") return make_shm_transport(bootstrap, lanes);
    throw core::Error(core::ErrorCode::usage,
                      fmt::format("transport 'local' is for threads of one process, but there are {} processes; use shm", bootstrap.size()));
}

}  // namespace

Communicator::State::State(CommunicatorOptions given, TeamFacts agreed, std::unique_ptr<Transport> made)
    : options(std::move(given)), facts(std::move(agreed)), transport(std::move(made)) {
    timing_ = options.trace != nullptr || options.log.level() >= core::LogLevel::info;
    ExecutorOptions execution = options.execution;
    if (!execution.warn) execution.warn = [log = options.log](const std::string& message) { log.warn(message); };
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

void Communicator::State::use_table(TableResult result) {
    if (transport->rank() == 0)
        for (const std::string& warning : result.warnings)
            options.log.warn(warning);
    origin = std::move(result.origin);
    chooser = std::make_shared<const Chooser>(facts.chooser, std::move(result.table), options.forced);
}

Communicator::Communicator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Communicator::~Communicator() = default;

Communicator::Communicator(Bootstrap& bootstrap, CommunicatorOptions options) {
    check_transport(options.transport);
    TeamFacts facts = agree_on_facts(bootstrap, rank_facts(bootstrap.rank(), options));
    std::unique_ptr<Transport> transport = make_transport(bootstrap, options, facts);
    state_ = std::make_unique<State>(std::move(options), std::move(facts), std::move(transport));
    State& state = *state_;
    if (bootstrap.rank() == 0 && !state.facts.other_databases.empty()) state.options.log.warn(state.facts.other_databases);
    const Exchange exchange = {[&](void* bytes, std::uint64_t size) { state.broadcast_bytes(bytes, size); },
                               [&](std::uint64_t word) { return state.all_gather_words(word); }};
    state.use_table(agree_on_table(bootstrap.rank(), state.options.table_source, exchange));
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

void Communicator::run(const PreparedCall& call, const void* input, void* output) {
    wait(start(call, input, output));
}

void Communicator::run(const Problem& problem, const void* input, void* output) {
    wait(state_->launch(state_->chosen_call(problem), input, output));
}

void Communicator::run(const Problem& problem, const core::Config& config, const void* input, void* output) {
    wait(state_->launch(state_->explicit_call(problem, config), input, output));
}

Choice Communicator::choice(Problem problem) const {
    return state_->chooser->choose(state_->complete(std::move(problem)));
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
