// The re-test: winners against the default in fresh launches, on samples that chose nothing.
#pragma once

#include "tuner/session_trials.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attune::tuner {

struct ConfirmItem {
    collectives::Problem problem;
    core::Config default_config;
    core::Config config;
    double gain = 1;            // as searched
    std::int64_t block_ns = 0;  // expected wall time of one block
    bool probe = false;         // a size between two ladder sizes: dropped first when time is short
};

// How much the re-test does, fixed before its first block so that no result can influence it.
struct ConfirmPlan {
    std::vector<ConfirmItem> items;
    std::size_t launches = 3;
    std::size_t blocks = 5;   // of the candidate, and as many floor blocks, per launch and item
    std::size_t dropped = 0;  // sizes without time
    std::size_t total() const { return launches * blocks; }
};
// Fits the items into the time: more launches and blocks (5 x 6) when there is room; else drops probes, then the items that promise least for their time.
ConfirmPlan plan_confirm(std::vector<ConfirmItem> items, std::int64_t time_ns);

// Problems, each once at however many roots it is tested.
std::size_t sizes_in(const std::vector<ConfirmItem>& items);

// The plan as text, and what a resumed run makes of it: the same launches and blocks for those of `items` that the plan holds.
std::string text_of(const ConfirmPlan& plan);
ConfirmPlan restore_plan(std::vector<ConfirmItem> items, const std::string& text);

// Sizes between items of one collective that are neighbours on the ladder and share config and default; a probe's default is asked from the target.
std::vector<ConfirmItem> probes_between(const std::vector<ConfirmItem>& items, const std::vector<collectives::Problem>& ladder, Target& target);

// The items again at the last rank, for rooted ones at root 0: only both together prove a choice for any root.
void add_last_roots(std::vector<ConfirmItem>& items, Target& target);

struct ConfirmHooks {
    std::int64_t deadline_ns = 0;
    std::string phase = "confirm";  // or "recheck"
    std::function<void(std::size_t item, const ConfirmItem&)> report;
};
// Launch by launch over all items, so that what one launch got by luck is in no row alone. Blocks of this run already in the journal count. Up to
// three further launches replace blocks that were dropped because the placement changed. True when every item has its blocks.
bool confirm(const ConfirmPlan& plan, const SessionTools& tools, const ConfirmHooks& hooks);

}  // namespace attune::tuner
