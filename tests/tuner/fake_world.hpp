// A machine that does not exist: costs by formula, noise and placements by seed, time that only moves when something runs.
#pragma once

#include "libcore/clock.hpp"
#include "libcore/error.hpp"
#include "tuner/arena.hpp"

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace attune::tuner::testing {

enum class Manner { good, wrong, crashes, hangs };

struct FakeWorld {
    core::ManualClock clock;
    std::mt19937_64 random{1};
    double noise = 0.02;                   // sigma of the logarithm of one sample
    double block_noise = 0;                // sigma of an error that a whole visit of one arm shares: what repetition inside a block cannot average out
    double move_chance = 0.02;             // that the placement changes at a ping
    std::vector<double> round_trips{100};  // one per placement
    std::size_t placement = 0;
    std::function<double(const collectives::Problem&, const core::Config&, std::size_t placement)> cost_ns;
    std::map<std::string, Manner> manners;  // by config text
    std::function<void()> before_sample;    // may throw: the tuner dies there
    int launches = 0;
    int samples = 0;

    double gaussian(double sigma) { return sigma > 0 ? std::normal_distribution<double>(0, sigma)(random) : 0; }
};

class FakeArena final : public Arena {
public:
    explicit FakeArena(FakeWorld& world) : world_(world), launch_("launch-" + std::to_string(++world.launches)) { world_.clock.advance_ns(1'000'000); }

    void load(const Work& work) override {
        work_ = work;
        world_.clock.advance_ns(100'000);
    }

    CheckResult check(std::size_t index) override {
        world_.clock.advance_ns(200'000);
        switch (manner(index)) {
            case Manner::good:
                return {};
            case Manner::wrong:
                return {CheckOutcome::wrong, 3, "3 wrong elements"};
            case Manner::crashes:
                alive_ = false;
                return {CheckOutcome::failed, 0, "rank 1 died of signal 11"};
            case Manner::hangs:
                alive_ = false;
                world_.clock.advance_ns(cap_);
                return {CheckOutcome::timeout, 0, "over the cap"};
        }
        return {};
    }

    SampleResult sample(std::size_t index, const SampleOptions& options) override {
        ++world_.samples;
        if (world_.before_sample) world_.before_sample();
        if (!alive_) throw core::Error(core::ErrorCode::failure, "sample on a dead team");
        const double cost = world_.cost_ns(work_.problem, work_.configs.at(index), world_.placement);
        const double shared = std::exp(world_.gaussian(world_.block_noise));
        SampleResult result;
        result.batch = options.batch > 0 ? options.batch : 1;
        for (std::uint64_t i = 0; i < options.iterations; ++i)
            result.ns.push_back(cost * shared * std::exp(world_.gaussian(world_.noise)));
        for (const double ns : result.ns)
            world_.clock.advance_ns(static_cast<std::int64_t>(ns) * static_cast<std::int64_t>(result.batch));
        return result;
    }

    double ping() override {
        world_.clock.advance_ns(50'000);
        if (std::uniform_real_distribution<double>(0, 1)(world_.random) < world_.move_chance)
            world_.placement = std::uniform_int_distribution<std::size_t>(0, world_.round_trips.size() - 1)(world_.random);
        return world_.round_trips[world_.placement] * std::exp(world_.gaussian(0.02));
    }

    bool oversubscribed() const override { return false; }
    bool bound() const override { return true; }
    std::string launch() const override { return launch_; }
    bool alive() const override { return alive_; }
    void set_cap_ns(std::int64_t cap) override { cap_ = cap; }

private:
    Manner manner(std::size_t index) const {
        const auto found = world_.manners.find(work_.configs.at(index).text());
        return found == world_.manners.end() ? Manner::good : found->second;
    }

    FakeWorld& world_;
    Work work_;
    std::string launch_;
    bool alive_ = true;
    std::int64_t cap_ = 1'000'000'000;
};

class FakeTarget final : public Target {
public:
    FakeTarget(FakeWorld& world, std::vector<core::Config> configs) : world_(world), configs_(std::move(configs)) {}
    std::string name() const override { return "collective"; }
    std::unique_ptr<Arena> launch(const TeamOptions&) override { return std::make_unique<FakeArena>(world_); }
    std::vector<core::Config> candidates(const collectives::Problem&) override { return configs_; }

private:
    FakeWorld& world_;
    std::vector<core::Config> configs_;
};

}  // namespace attune::tuner::testing
