// The driving side of an arena: turns calls into commands, replies and shared samples into results. How commands travel is the subclass's.
#pragma once

#include "tuner/arena.hpp"
#include "tuner/engine/command.hpp"
#include "tuner/engine/shared_area.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace attune::tuner {

class ArenaDriver : public Arena {
public:
    void load(const Work& work) override;  // throws Error(failure) when the team is gone
    CheckResult check(std::size_t index) override;
    SampleResult sample(std::size_t index, const SampleOptions& options) override;
    double ping() override;
    double copy_ns(std::uint64_t bytes) override;
    std::string launch() const override { return launch_; }
    bool alive() const override { return alive_; }
    void set_cap_ns(std::int64_t cap) override { cap_ns_ = cap; }
    void stop_when(std::function<bool()> interrupted) override { interrupted_ = std::move(interrupted); }

protected:
    ArenaDriver(engine::SharedArea area, std::int64_t timeout_ns);

    struct Answers {
        CheckOutcome outcome = CheckOutcome::ok;  // failed or timeout: the team is gone
        std::string message;
        std::vector<engine::Reply> replies;  // of every rank when ok
    };
    // Runs one command on all ranks. Never throws.
    virtual Answers exchange(const engine::Command& command, std::int64_t cap_ns) = 0;

    bool interrupted() const { return interrupted_ && interrupted_(); }

    engine::SharedArea area_;
    bool alive_ = true;

private:
    Answers ask(const engine::Command& command, std::int64_t cap_ns);
    SampleResult sample_piece(std::size_t index, const SampleOptions& options);

    std::function<bool()> interrupted_;
    std::string launch_;
    std::int64_t timeout_ns_;
    std::int64_t cap_ns_;
};

}  // namespace attune::tuner
