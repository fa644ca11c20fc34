// Trials of re-tests made up for tests of publishing: blocks of a run at one size, each with its floor.
#pragma once

#include "tuner/publish.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attune::tuner {

inline const core::Config standard = core::Config::parse("algorithm=one_shot");
inline const core::Config ring = core::Config::parse("algorithm=ring");

inline core::Key key_of_all_reduce() {
    core::Key key;
    key.collective = "all_reduce";
    key.dtype_class = "float32";
    key.op = "sum";
    key.ranks = 4;
    key.node_map = "1x4";
    key.transport = "shm";
    return key;
}

inline db::Identity identity() {
    return {{{"cpu_vendor", "test"}, {"instruction_set", "avx2"}}};
}

struct Plan {
    std::string run = "run-1";
    std::uint64_t bytes = 64;
    core::Config config = ring;
    double gain = 1.5;
    std::size_t launches = 3, blocks = 5;
    std::string placement = "c0";
    double wobble = 0.01;  // relative spread, alternating
};

inline db::Trial trial(const Plan& plan, const std::string& phase, std::size_t launch, double ratio) {
    db::Trial result;
    result.run = plan.run;
    result.phase = phase;
    result.key = key_of_all_reduce();
    result.bytes = plan.bytes;
    result.config = phase == "floor" ? standard : plan.config;
    result.default_config = standard;
    result.default_version = 1;
    result.algorithm_version = 1;
    result.launch = plan.run + "/" + std::to_string(launch);
    result.placement = plan.placement;
    result.default_ns = {1000};
    result.config_ns = {1000 / ratio};
    result.ratio = ratio;
    return result;
}

inline void append(std::vector<db::Trial>& trials, const Plan& plan) {
    for (std::size_t launch = 0; launch < plan.launches; ++launch) {
        for (std::size_t block = 0; block < plan.blocks; ++block) {
            const double wobble = block % 2 == 0 ? 1 + plan.wobble : 1 - plan.wobble;
            trials.push_back(trial(plan, "floor", launch, wobble));
            trials.push_back(trial(plan, "confirm", launch, plan.gain * wobble));
        }
    }
}

// Trials of a broadcast from this root.
inline void append_rooted(std::vector<db::Trial>& trials, int root, const Plan& plan) {
    const std::size_t first = trials.size();
    append(trials, plan);
    for (std::size_t i = first; i < trials.size(); ++i) {
        trials[i].key.collective = "broadcast";
        trials[i].key.dtype_class = "bytes";
        trials[i].key.op = "none";
        trials[i].key.root_class = std::to_string(root);
        trials[i].config = trials[i].phase == "floor" ? core::Config::parse("algorithm=linear") : core::Config::parse("algorithm=binomial");
        trials[i].default_config = core::Config::parse("algorithm=linear");
    }
}

inline Selection select(const std::vector<db::Trial>& trials, PublishOptions options = {}) {
    return select_rows(trials, identity(), options);
}

inline std::string only_reason(const Selection& selection) {
    return selection.rejected.size() == 1 ? selection.rejected.front().reason : "not one rejected point";
}

}  // namespace attune::tuner
