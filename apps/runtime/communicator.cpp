// The exported side: internal errors become attune::Error at this boundary.
#include "apps/runtime/translate.hpp"

#include <exception>
#include <utility>

namespace attune {

using detail::job_of;
using detail::problem_of;
using detail::translated;

Request::Request(std::shared_ptr<detail::Job> job, std::uint64_t ticket) noexcept : job_(std::move(job)), ticket_(ticket) {}
Request::Request(Request&& other) noexcept : job_(std::move(other.job_)), ticket_(std::exchange(other.ticket_, 0)) {}

Request& Request::operator=(Request&& other) noexcept {
    if (this == &other) return *this;
    finish();
    job_ = std::move(other.job_);
    ticket_ = std::exchange(other.ticket_, 0);
    return *this;
}

Request::~Request() {
    finish();
}

// The buffers may be gone after this, so the call must be over. While an exception unwinds the stack the others may never come: then it is left.
void Request::finish() noexcept {
    if (!job_ || std::uncaught_exceptions() > 0) return;
    try {
        wait();
    } catch (const std::exception&) {
        // A failed communicator says so again at the next call.
    }
}

bool Request::done() {
    if (!job_) return true;
    const bool done = translated([&] { return job_->team->done({ticket_}); });
    if (done) job_.reset();
    return done;
}

void Request::wait() {
    if (!job_) return;
    const std::shared_ptr<detail::Job> job = std::move(job_);
    translated([&] { job->team->wait({ticket_}); });
}

Prepared::Prepared(std::shared_ptr<detail::Job> job, std::shared_ptr<const detail::PreparedCall> call) noexcept
    : job_(std::move(job)), call_(std::move(call)) {}

Request Prepared::start() {
    const collectives::Ticket ticket = translated([&] { return job_of(job_).team->start(call_->call, call_->input, call_->output); });
    return Request(job_, ticket.call);
}

void Prepared::run() {
    translated([&] { job_of(job_).team->run(call_->call, call_->input, call_->output); });
}

Communicator::Communicator(const Options& options) : job_(translated([&] { return detail::open_job(options); })) {}
Communicator::~Communicator() = default;
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;

int Communicator::rank() const {
    return job_of(job_).team->rank();
}
int Communicator::size() const {
    return job_of(job_).team->size();
}

Request Communicator::start(const Call& call, const void* input, void* output) {
    const collectives::Ticket ticket = translated([&] {
        detail::Job& job = job_of(job_);
        return job.team->start(problem_of(call, job), input, output);
    });
    return Request(job_, ticket.call);
}

void Communicator::run(const Call& call, const void* input, void* output) {
    translated([&] {
        detail::Job& job = job_of(job_);
        job.team->run(problem_of(call, job), input, output);
    });
}

Prepared Communicator::prepare(const BoundCall& bound) {
    return translated([&] {
        detail::Job& job = job_of(job_);
        collectives::Communicator& team = *job.team;
        const collectives::Problem problem = problem_of(bound.call, job);
        auto call = std::make_shared<detail::PreparedCall>();
        *call = {team.prepare(problem), bound.input, bound.output};
        return Prepared(job_, std::move(call));
    });
}

Explanation Communicator::explain(const Call& call) const {
    const collectives::Choice choice = translated([&] {
        detail::Job& job = job_of(job_);
        return job.team->choice(problem_of(call, job));
    });
    Explanation explanation;
    explanation.config = choice.config.text();
    explanation.algorithm = choice.config.algorithm();
    explanation.source = name_of(choice.source);
    explanation.match = name_of(choice.match);
    explanation.reason = choice.reason;
    explanation.gain = choice.gain;
    if (choice.row) explanation.row = static_cast<long>(*choice.row);
    return explanation;
}

std::string Communicator::summary() const {
    return detail::summarize(job_of(job_).team->statistics());
}
std::string Communicator::table_origin() const {
    return job_of(job_).team->table_origin();
}

}  // namespace attune
