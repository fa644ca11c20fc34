#include "collectives/call_cache.hpp"

#include <algorithm>
#include <tuple>

namespace attune::collectives {

namespace {

// Finalizer of splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

std::uint64_t hash_of(const Amounts& amounts) noexcept {
    std::uint64_t hash = static_cast<std::uint64_t>(static_cast<std::uint32_t>(amounts.destination)) << 32 | static_cast<std::uint32_t>(amounts.source);
    for (const std::vector<std::uint64_t>* values : {&amounts.send, &amounts.receive, &amounts.send_offsets, &amounts.receive_offsets, &amounts.matrix}) {
        hash = mix(hash + values->size());
        for (const std::uint64_t value : *values)
            hash = mix(hash + value);
    }
    for (const Transfer& transfer : amounts.transfers)
        hash = mix(mix(mix(hash + transfer.count) + transfer.offset) + static_cast<std::uint64_t>(transfer.peer) * 2 + (transfer.is_send ? 1 : 0));
    return hash;
}

std::uint64_t size_of_call(const CachedCall& call) {
    const Plan& plan = *call.plan;
    return sizeof(CachedCall) + sizeof(Plan) + call.text.capacity() + call.config.capacity() + plan.operations.capacity() * sizeof(Operation) +
           plan.sources.capacity() * sizeof(Source) + plan.peers.capacity() * sizeof(Rank) + plan.hazards.capacity() * sizeof(std::uint32_t);
}

}  // namespace

CallKey key_of_call(const Problem& problem, std::uint32_t config) noexcept {
    CallKey key{problem.count, 0, config, problem.collective, problem.dtype, core::Op::sum, problem.in_place};
    if (has_amounts(problem.collective)) key.amounts = problem.amounts;
    if (is_rooted(problem.collective)) key.root = problem.root;
    if (reduces(problem.collective)) key.op = problem.op;
    return key;
}

bool operator==(const CallKey& a, const CallKey& b) noexcept {
    const auto plain = [](const CallKey& key) { return std::tie(key.count, key.root, key.config, key.collective, key.dtype, key.op, key.in_place); };
    if (plain(a) != plain(b)) return false;
    return a.amounts == b.amounts || (a.amounts && b.amounts && *a.amounts == *b.amounts);
}

std::size_t CallKeyHash::operator()(const CallKey& key) const noexcept {
    const std::uint64_t kinds = static_cast<std::uint64_t>(key.collective) | static_cast<std::uint64_t>(key.dtype) << 8 |
                                static_cast<std::uint64_t>(key.op) << 16 | static_cast<std::uint64_t>(key.in_place) << 24;
    const std::uint64_t numbers = static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.root)) << 32 | key.config;
    const std::size_t plain = mix(mix(mix(key.count) + numbers) + kinds);
    return key.amounts ? plain ^ hash_of(*key.amounts) : plain;
}

const CachedCall* CallCache::find(const CallKey& key) noexcept {
    if (last_ != nullptr && last_key_ == key) return last_;
    const auto found = calls_.find(key);
    if (found == calls_.end()) return nullptr;
    last_key_ = key;
    last_ = &found->second;
    last_->last_used = ++clock_;
    return last_;
}

const CachedCall* CallCache::insert(const CallKey& key, CachedCall call) {
    call.size = size_of_call(call);
    call.last_used = ++clock_;
    make_room(call.size);
    bytes_ += call.size;
    last_key_ = key;
    last_ = &calls_.insert_or_assign(key, std::move(call)).first->second;
    return last_;
}

CallTotals& CallCache::totals(CallKey key, const Problem& problem, const Choice& choice) {
    key.amounts = nullptr;
    if (totals_.size() >= totals_limit && !totals_.contains(key)) {
        // No call has so many elements; the root tells the sources apart.
        key.count = ~std::uint64_t{0};
        key.root = static_cast<std::int32_t>(choice.source) * 16 + static_cast<std::int32_t>(choice.match);
        key.config = 0;
    }
    const auto [place, is_new] = totals_.try_emplace(key);
    if (is_new) {
        place->second.problem = problem;
        place->second.source = choice.source;
        place->second.match = choice.match;
    }
    return place->second;
}

// Searching all calls for the oldest is cheap beside the compilation that needs the room. A plan larger than the limit stays alone.
void CallCache::make_room(std::uint64_t bytes) {
    while (!calls_.empty() && (calls_.size() >= plan_limit || bytes_ + bytes > byte_limit)) {
        const auto oldest = std::ranges::min_element(calls_, {}, [](const auto& entry) { return entry.second.last_used; });
        if (last_ == &oldest->second) last_ = nullptr;
        bytes_ -= oldest->second.size;
        calls_.erase(oldest);
    }
}

}  // namespace attune::collectives
