// A program as users write it: communicators made from others, calls in groups, databases, tuning. `teams_program [FILE]`: a release to
// load. Exit 0 = all right.
#include <attune/attune.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using attune::Call;
using attune::Collective;
using attune::Communicator;
using attune::DType;
using attune::Request;

struct Failure {
    std::string what;
};
void require(bool right, const std::string& what) {
    if (!right) throw Failure{what};
}

std::int64_t sum_of_ones(Communicator& team) {
    std::int64_t value = 1;
    team.all_reduce(&value, 1);
    return value;
}

void check_split(Communicator& team) {
    std::optional<Communicator> even = team.split(team.rank() % 2 == 0 ? 0 : -1, -team.rank());
    require(even.has_value() == (team.rank() % 2 == 0), "split");
    if (even) {
        const int evens = (team.size() + 1) / 2;
        require(even->size() == evens && even->rank() == evens - 1 - team.rank() / 2, "ranks ordered by key");
        require(even->label().find("communicator ") == 0, "label");
        require(sum_of_ones(*even) == evens, "all_reduce of a part");
    }
    Communicator copy = team.dup();
    Communicator deeper = copy.dup();
    even.reset();
    copy = team.dup();
    require(sum_of_ones(deeper) == team.size() && sum_of_ones(copy) == team.size(), "copies whose parents ended");
}

// Ranks wait for the communicators in different orders, and a second communicator of the process, made over the launcher, joins in.
void check_progress(Communicator& team) {
    Communicator copy = team.dup(), other;
    constexpr std::uint64_t n = 300'000;
    const std::vector<float> input(n, 1);
    std::vector<float> a(n), b(n), c(n);
    std::array<Request, 3> requests = {team.start_all_reduce(input.data(), a.data(), n), copy.start_all_reduce(input.data(), b.data(), n),
                                       other.start_all_reduce(input.data(), c.data(), n)};
    requests[static_cast<std::size_t>(team.rank()) % 3].wait();
    std::size_t seen = 1;
    for (; attune::wait_any(requests) != requests.size(); ++seen) {
    }
    require(seen == 3, "wait_any returns each request once");
    attune::wait_all(requests);
    const auto sum = static_cast<float>(team.size());
    require(a == std::vector<float>(n, sum) && b == a && c == a, "three communicators at once");
}

void check_group(Communicator& team) {
    Communicator copy = team.dup();
    const std::vector<std::int32_t> input(100, 1);
    std::vector<std::vector<std::int32_t>> outputs(12, std::vector<std::int32_t>(100));
    attune::Group group;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        Communicator& of_turn = (i < 6) == (team.rank() == 0) ? team : copy;
        group.add(of_turn, {Collective::all_reduce, 100 - i % 6, DType::int32}, input.data(), outputs[i].data());
    }
    group.run();
    for (const auto& output : outputs)
        require(output.front() == team.size(), "group");
    group.run();  // empty now
}

void check_prepared(Communicator& team) {
    Communicator copy = team.dup();
    std::vector<double> buffer(50), other(50);
    attune::Prepared sum = team.prepare(attune::calls::all_reduce(buffer.data(), buffer.size()));
    attune::Prepared of_copy = copy.prepare(attune::calls::all_reduce(other.data(), other.size()));
    for (int i = 0; i < 20; ++i) {
        buffer.assign(50, i);
        other.assign(50, 2 * i);
        std::array<Request, 2> requests = {sum.start(), of_copy.start()};
        attune::wait_any(requests);
        attune::wait_all(requests);
        require(buffer == std::vector<double>(50, i * team.size()) && other == std::vector<double>(50, 2 * i * team.size()), "prepared all_reduce");
    }
}

void check_databases(Communicator& team, const std::string& file) {
    const Call call{Collective::all_reduce, 2};
    const std::string standard = team.explain(call).config;
    int code = 0;
    try {
        team.load_database("/nowhere/at/all.attune.db");
    } catch (const attune::Error& error) {
        code = error.exit_code();
    }
    require(code == 3, "a release that is not there is error 3");
    require(sum_of_ones(team) == team.size(), "a call after a failed load");
    if (file.empty()) return;
    team.load_database(file);
    require(team.explain(call).source == "tuned" && team.table_origin() == file, "a loaded release is used");
    Communicator copy = team.dup();
    require(copy.explain(call).source == "tuned" && copy.table_origin() == file, "a copy inherits it");
    float value = 1;
    team.run({Collective::all_reduce, 1, DType::float32, attune::Op::sum, 0, true}, &value, &value);
    team.forget_database();
    require(team.explain(call).source == "default" && team.explain(call).config == standard, "forgotten");
    require(copy.explain(call).source == "tuned", "the copy is another communicator");
}

void check_tuning(Communicator& team) {
    const Call call{Collective::all_reduce, 4096};
    const attune::Tuned tuned = team.tune(call, std::chrono::seconds(1));
    require(tuned.applied == tuned.reason.empty(), "a reason exactly when nothing was applied");
    require(tuned.applied == (team.explain(call).source == "tuned"), "what was proven is used");
    require(team.size() == 1 || tuned.candidates > 1, "there was a choice");
    require(sum_of_ones(team) == team.size(), "a call after tuning");
}

int run(const std::string& file) {
    Communicator team;
    check_split(team);
    check_progress(team);
    check_group(team);
    check_prepared(team);
    check_databases(team, file);
    check_tuning(team);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? argv[1] : "");
    } catch (const Failure& failure) {
        std::fprintf(stderr, "wrong: %s\n", failure.what.c_str());
        return 4;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "teams_program: %s\n", error.what());
        return 1;
    }
}
