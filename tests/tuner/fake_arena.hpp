// An arena that measures nothing: times come from a seeded model of a noisy machine whose cores move.
#pragma once

#include "tuner/arena.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace attune::tuner {

struct FakeMachine {
    std::vector<double> true_ns = {20'000, 20'000};  // per candidate, on the near placement
    double noise = 0.05;                             // standard deviation of the logarithm, about
    double drift_per_sample = 0;                     // relative slowdown with every iteration
    double flip_probability = 0;                     // per command: the cores move
    double far_factor = 3.5;
    std::uint64_t seed = 1;
};

class FakeArena : public Arena {
public:
    explicit FakeArena(FakeMachine machine, std::string launch = "fake") : machine_(std::move(machine)), state_(machine_.seed), launch_(std::move(launch)) {}

    void load(const Work&) override {}
    CheckResult check(std::size_t) override { return {}; }
    SampleResult sample(std::size_t index, const SampleOptions& options) override {
        SampleResult result;
        result.batch = options.batch == 0 ? 1 : options.batch;
        if (dies_at != 0 && ++commands_ >= dies_at) {
            result.outcome = CheckOutcome::failed;
            result.message = "rank 1 was killed by signal 9";
            alive_ = false;
            return result;
        }
        maybe_flip();
        for (std::uint64_t i = 0; i < options.iterations; ++i) {
            drift_ *= 1 + machine_.drift_per_sample;
            result.ns.push_back(machine_.true_ns.at(index) * (far_ ? machine_.far_factor : 1) * drift_ * std::exp(machine_.noise * gaussian()));
        }
        samples_taken += options.iterations;
        return result;
    }
    double ping() override {
        maybe_flip();
        return (far_ ? 600 : 110) * (1 + 0.05 * (uniform() - 0.5));
    }
    bool oversubscribed() const override { return crowded; }
    bool bound() const override { return !crowded; }
    std::string launch() const override { return launch_; }
    bool alive() const override { return alive_; }
    void set_cap_ns(std::int64_t) override {}

    std::uint64_t samples_taken = 0;
    std::uint64_t dies_at = 0;  // number of the sample command that finds a dead rank; 0 = never
    bool crowded = false;

private:
    double uniform() {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<double>(state_ >> 11) / 9007199254740992.0;
    }
    double gaussian() {  // sum of twelve uniforms: close enough, and bounded
        double sum = -6;
        for (int i = 0; i < 12; ++i)
            sum += uniform();
        return sum;
    }
    void maybe_flip() {
        if (uniform() < machine_.flip_probability) far_ = !far_;
    }

    FakeMachine machine_;
    std::uint64_t state_;
    std::string launch_;
    std::uint64_t commands_ = 0;
    double drift_ = 1;
    bool far_ = false;
    bool alive_ = true;
};

}  // namespace attune::tuner
