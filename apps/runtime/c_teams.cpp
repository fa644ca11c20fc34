// attune.h: communicators made from others, their databases and tuning, groups of calls.
#include "apps/runtime/c_handles.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

using attune::c::CallOf;
using attune::c::guarded;
using attune::c::required;

namespace {

// Cut to the room there is, always with its end.
void put(std::string_view text, std::span<char> room) {
    if (room.empty()) return;
    const std::size_t length = std::min(text.size(), room.size() - 1);
    std::memcpy(room.data(), text.data(), length);
    room[length] = '\0';
}

}  // namespace

int attune_split(attune_communicator* team, int color, int key, attune_communicator** made) {
    return guarded([&] {
        attune::Communicator& communicator = required(team, "the communicator").team;
        attune_communicator*& place = required(made, "the place for the communicator");
        place = nullptr;
        std::optional<attune::Communicator> part = communicator.split(color, key);
        if (part) place = new attune_communicator{std::move(*part)};
    });
}

int attune_dup(attune_communicator* team, attune_communicator** made) {
    return guarded([&] {
        attune::Communicator& communicator = required(team, "the communicator").team;
        attune_communicator*& place = required(made, "the place for the communicator");
        place = nullptr;
        place = new attune_communicator{communicator.dup()};
    });
}

int attune_db_load(attune_communicator* team, const char* path) {
    return guarded([&] {
        attune::Communicator& communicator = required(team, "the communicator").team;
        communicator.load_database(&required(path, "the path of the database"));
    });
}

int attune_db_forget(attune_communicator* team) {
    return guarded([&] { required(team, "the communicator").team.forget_database(); });
}

int attune_group_open(attune_group** group) {
    return guarded([&] {
        attune_group*& place = required(group, "the place for the group");
        place = nullptr;
        place = new attune_group;
    });
}

int attune_group_add(attune_group* group, attune_communicator* team, const attune_call* call, const void* input, void* output) {
    return guarded([&] {
        attune::Group& calls = required(group, "the group").group;
        attune::Communicator& communicator = required(team, "the communicator").team;
        calls.add(communicator, CallOf(*team, required(call, "the call")).with(input, output));
    });
}

int attune_group_run(attune_group* group) {
    return guarded([&] { required(group, "the group").group.run(); });
}

void attune_group_close(attune_group* group) {
    delete group;
}

int attune_explain(attune_communicator* team, const attune_call* call, int in_place, char* text, uint64_t size) {
    return guarded([&] {
        const attune::Communicator& communicator = required(team, "the communicator").team;
        required(text, "the place for the text");
        const attune::Explanation why = communicator.explain(CallOf(*team, required(call, "the call")).in_place(in_place != 0));
        put(why.config + "; " + why.source + ", " + why.match + ": " + why.reason, {text, size});
    });
}

int attune_tune(attune_communicator* team, const attune_call* call, int in_place, int seconds, attune_tuned* found) {
    return guarded([&] {
        attune::Communicator& communicator = required(team, "the communicator").team;
        attune_tuned& answer = required(found, "the place for the result");
        answer = {};
        const CallOf wanted(*team, required(call, "the call"));
        const attune::Tuned tuned = communicator.tune(wanted.in_place(in_place != 0), std::chrono::seconds(seconds));
        answer.applied = tuned.applied ? 1 : 0;
        answer.gain = tuned.gain;
        answer.gain_low = tuned.gain_low;
        answer.gain_high = tuned.gain_high;
        answer.seconds = tuned.seconds;
        put(tuned.config, answer.config);
        put(tuned.reason, answer.reason);
    });
}
