// What the opaque types of attune.h are, and the edge that turns exceptions into codes.
#pragma once

#include "apps/runtime/include/attune/attune.h"
#include "apps/runtime/include/attune/attune.hpp"

#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

struct attune_communicator {
    attune::Communicator team;
};

struct attune_request {
    attune::Request request;
    attune_prepared* owner = nullptr;  // it is part of a prepared call, which uses it again
};

struct attune_prepared {
    explicit attune_prepared(attune::Prepared made) : call(std::move(made)), request{{}, this} {}

    attune::Prepared call;
    attune_request request;
    bool active = false;
};

struct attune_group {
    attune::Group group;
};

namespace attune::c {

// Keeps the message for attune_last_error(), cut to its room.
int failed(int code, const char* message) noexcept;

// The code of what the action throws, 0 when it returns.
template <class Action>
int guarded(const Action& action) noexcept {
    try {
        action();
        return ATTUNE_OK;
    } catch (const Error& error) {
        return failed(error.exit_code(), error.what());
    } catch (const std::bad_alloc&) {
        return failed(ATTUNE_FAILURE, "out of memory");
    } catch (const std::exception& error) {
        return failed(ATTUNE_FAILURE, error.what());
    } catch (...) {
        return failed(ATTUNE_FAILURE, "an unknown failure");
    }
}

// Throws Error(2) that names the argument.
template <class T>
T& required(T* pointer, const char* what) {
    if (pointer == nullptr) throw Error(ATTUNE_USAGE, std::string(what) + " is NULL");
    return *pointer;
}

// A call of attune.h for this team; throws Error(2) for values that do not exist. What it gives out reads the caller's counts and its own transfers.
class CallOf {
public:
    CallOf(const attune_communicator& team, const attune_call& call);
    CallOf(const CallOf&) = delete;
    CallOf& operator=(const CallOf&) = delete;

    BoundCall with(const void* input, void* output) const;  // knows ATTUNE_IN_PLACE
    Call in_place(bool in_place) const;

private:
    Call call_;
    std::vector<Transfer> transfers_;
};

}  // namespace attune::c
