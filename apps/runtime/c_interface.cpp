// attune.h: communicators, requests and prepared calls. The blocking calls by name are in c_calls.cpp, teams and groups in c_teams.cpp.
#include "apps/runtime/c_handles.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace attune::c {

namespace {

// One per thread, because a code and its message belong together. Plain memory: keeping a message cannot fail.
thread_local std::array<char, 1024> last_message{};

std::string text(const char* value) {
    return value == nullptr ? std::string() : std::string(value);
}

int checked(const char* what, int value, int last) {
    if (value >= 0 && value <= last) return value;
    throw Error(ATTUNE_USAGE,
                std::string(what) + " " + std::to_string(value) + " does not exist; the values are 0 to " + std::to_string(last) + " (attune/attune.h)");
}

Counts counts(const std::uint64_t* values, std::size_t count) noexcept {
    return values == nullptr ? Counts{} : Counts{values, count};
}

Call translated(const attune_call& call, std::size_t ranks) {
    Call made;
    made.collective = static_cast<Collective>(checked("the collective", call.collective, ATTUNE_BATCH_SEND_RECV));
    made.dtype = static_cast<DType>(checked("the dtype", call.dtype, ATTUNE_BFLOAT16));
    made.op = static_cast<Op>(checked("the op", call.op, ATTUNE_BXOR));
    made.root = call.root;
    made.count = call.count;
    made.send = counts(call.send, ranks);
    made.receive = counts(call.receive, ranks);
    made.send_offsets = counts(call.send_offsets, ranks);
    made.receive_offsets = counts(call.receive_offsets, ranks);
    made.matrix = counts(call.matrix, ranks * ranks);
    made.destination = call.destination;
    made.source = call.source;
    return made;
}

}  // namespace

int failed(int code, const char* message) noexcept {
    const std::size_t length = std::min(std::strlen(message), last_message.size() - 1);
    std::memcpy(last_message.data(), message, length);
    last_message[length] = '\0';
    return code;
}

CallOf::CallOf(const attune_communicator& team, const attune_call& call) {
    call_ = translated(call, static_cast<std::size_t>(team.team.size()));
    if (call.transfer_count > 0) required(call.transfers, "the list of transfers");
    for (std::uint64_t index = 0; index < call.transfer_count; ++index) {
        const attune_transfer& transfer = call.transfers[index];
        transfers_.push_back({transfer.is_send != 0, transfer.peer, transfer.count, transfer.offset});
    }
    call_.transfers = transfers_;
}

BoundCall CallOf::with(const void* input, void* output) const {
    if (output == ATTUNE_IN_PLACE) throw Error(ATTUNE_USAGE, "ATTUNE_IN_PLACE stands for the input; the output is the buffer itself");
    if (input != ATTUNE_IN_PLACE) return {call_, input, output};
    return {in_place(true), output, output};
}

Call CallOf::in_place(bool in_place) const {
    Call call = call_;
    call.in_place = in_place;
    return call;
}

}  // namespace attune::c

using attune::c::CallOf;
using attune::c::guarded;
using attune::c::required;

const char* attune_last_error(void) {
    return attune::c::last_message.data();
}

int attune_open(const attune_options* options, attune_communicator** team) {
    return guarded([&] {
        attune_communicator*& made = required(team, "the place for the communicator");
        made = nullptr;
        attune::Options chosen;
        if (options != nullptr) {
            chosen = {attune::c::text(options->database), attune::c::text(options->mode), attune::c::text(options->force), attune::c::text(options->log)};
        }
        made = new attune_communicator{attune::Communicator(chosen)};
    });
}

void attune_close(attune_communicator* team) {
    delete team;
}

int attune_rank(const attune_communicator* team, int* rank) {
    return guarded([&] { required(rank, "the place for the rank") = required(team, "the communicator").team.rank(); });
}

int attune_size(const attune_communicator* team, int* size) {
    return guarded([&] { required(size, "the place for the size") = required(team, "the communicator").team.size(); });
}

int attune_run(attune_communicator* team, const attune_call* call, const void* input, void* output) {
    return guarded([&] {
        attune::Communicator& communicator = required(team, "the communicator").team;
        communicator.run(CallOf(*team, required(call, "the call")).with(input, output));
    });
}

int attune_start(attune_communicator* team, const attune_call* call, const void* input, void* output, attune_request** request) {
    return guarded([&] {
        attune::Communicator& communicator = required(team, "the communicator").team;
        attune_request*& started = required(request, "the place for the request");
        started = nullptr;
        started = new attune_request{communicator.start(CallOf(*team, required(call, "the call")).with(input, output))};
    });
}

int attune_prepare(attune_communicator* team, const attune_call* call, const void* input, void* output, attune_prepared** prepared) {
    return guarded([&] {
        attune::Communicator& communicator = required(team, "the communicator").team;
        attune_prepared*& kept = required(prepared, "the place for the prepared call");
        kept = nullptr;
        kept = new attune_prepared(communicator.prepare(CallOf(*team, required(call, "the call")).with(input, output)));
    });
}

int attune_start_prepared(attune_prepared* prepared, attune_request** request) {
    return guarded([&] {
        attune_prepared& kept = required(prepared, "the prepared call");
        attune_request*& started = required(request, "the place for the request");
        started = nullptr;
        if (kept.active) throw attune::Error(ATTUNE_USAGE, "the prepared call is started already; end it with attune_wait() first");
        kept.request.request = kept.call.start();
        kept.active = true;
        started = &kept.request;
    });
}

int attune_run_prepared(attune_prepared* prepared) {
    return guarded([&] { required(prepared, "the prepared call").call.run(); });
}

void attune_free_prepared(attune_prepared* prepared) {
    delete prepared;
}

int attune_test(attune_request* request, int* done) {
    return guarded([&] {
        int& answer = required(done, "the place for the answer");
        answer = request == nullptr || request->request.done() ? 1 : 0;
    });
}

int attune_wait(attune_request* request) {
    if (request == nullptr) return ATTUNE_OK;
    const int code = guarded([&] { request->request.wait(); });
    if (request->owner == nullptr) {
        delete request;
    } else {
        request->owner->active = false;
    }
    return code;
}

int attune_wait_all(attune_request* const* requests, uint64_t count) {
    if (count > 0 && requests == nullptr) return attune::c::failed(ATTUNE_USAGE, "the list of requests is NULL");
    int first = ATTUNE_OK;
    for (uint64_t index = 0; index < count; ++index) {
        const int code = attune_wait(requests[index]);
        if (first == ATTUNE_OK) first = code;
    }
    return first;
}
