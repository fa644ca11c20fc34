// The exported side of communicators made from others, of their databases, and of calls in groups.
#include "apps/runtime/translate.hpp"
#include "collectives/call_group.hpp"

#include <exception>
#include <utility>
#include <vector>

namespace attune {

using detail::job_of;
using detail::translated;

Communicator::Communicator(std::shared_ptr<detail::Job> job) noexcept : job_(std::move(job)) {}

std::string Communicator::label() const {
    return job_of(job_).team->label();
}

std::optional<Communicator> Communicator::split(int color, int key) {
    std::unique_ptr<collectives::Communicator> made = translated([&] { return job_of(job_).team->split(color, key); });
    if (!made) return std::nullopt;
    return Communicator(detail::child_job(*job_, std::move(made)));
}

Communicator Communicator::dup() {
    return Communicator(detail::child_job(job_of(job_), translated([&] { return job_->team->dup(); })));
}

void Communicator::load_database(const std::string& path) {
    translated([&] { job_of(job_).team->load_table(detail::release_source(*job_, path)); });
}

void Communicator::forget_database() {
    job_of(job_).team->forget_table();
}

std::size_t wait_any(std::span<Request> requests) {
    std::vector<collectives::StartedCall> calls;
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < requests.size(); ++place) {
        const Request& request = requests[place];
        if (!request.job_) continue;
        calls.push_back({request.job_->team.get(), {request.ticket_}});
        places.push_back(place);
    }
    if (calls.empty()) return requests.size();
    const std::size_t place = places[translated([&] { return collectives::wait_any(calls); })];
    requests[place].wait();
    return place;
}

void wait_all(std::span<Request> requests) {
    for (Request& request : requests)
        request.wait();
}

struct Group::State {
    collectives::CallGroup calls;
    std::vector<std::shared_ptr<detail::Job>> jobs;  // kept until the calls are over
};

Group::Group() : state_(std::make_unique<State>()) {}

// As a Request: while an exception unwinds the stack the others may never come.
Group::~Group() {
    if (std::uncaught_exceptions() > 0) return;
    try {
        run();
    } catch (const std::exception&) {
        // A failed communicator says so again at the next call.
    }
}

void Group::add(Communicator& team, const Call& call, const void* input, void* output) {
    translated([&] {
        detail::Job& job = job_of(team.job_);
        state_->calls.add(*job.team, detail::problem_of(call, job), input, output);
    });
    state_->jobs.push_back(team.job_);
}

void Group::start() {
    translated([&] { state_->calls.start(); });
}

void Group::run() {
    translated([&] { state_->calls.wait(); });
    state_->jobs.clear();
}

}  // namespace attune
