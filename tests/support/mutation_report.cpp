#include "tests/support/mutations.hpp"

#include "collectives/amounts.hpp"
#include "collectives/verifier.hpp"
#include "tests/support/dependency_graph.hpp"

#include <stdexcept>

namespace attune::test {

namespace {

using namespace collectives;

std::vector<std::uint64_t> form(const Problem& problem, const Schedule& schedule) {
    return dependency_form(problem, schedule);
}
std::vector<std::uint64_t> form(const Problem&, const Plan& plan) {
    return dependency_form(plan);
}
std::vector<Mutant<Schedule>> mutants_of(const Problem& problem, const Schedule& schedule) {
    return test::mutants_of(schedule, problem.ranks);
}
std::vector<Mutant<Plan>> mutants_of(const Problem&, const Plan& plan) {
    return test::mutants_of(plan);
}

// `programs` must be proved as they are.
template <typename Program>
MutationReport judge(const Problem& problem, const std::string& name, std::vector<Program> programs) {
    Verifier verifier;
    if (const auto reason = verifier.refute(problem, programs)) throw std::runtime_error(name + " is refuted unchanged: " + *reason);
    MutationReport report;
    for (std::size_t rank = 0; rank < programs.size(); ++rank) {
        const Program original = programs[rank];
        const std::vector<std::uint64_t> original_form = form(problem, original);
        for (auto& mutant : mutants_of(problem, original)) {
            if (form(problem, mutant.program) == original_form) {
                ++report.equivalent;
                continue;
            }
            ++report.mutants;
            programs[rank] = std::move(mutant.program);
            if (verifier.refute(problem, programs)) {
                ++report.refused;
                continue;
            }
            MutationReport::Survivors& survivors = report.survivors[name + ": " + mutant.what];
            if (survivors.count++ == 0) survivors.example = std::to_string(problem.ranks) + " ranks, rank " + std::to_string(rank) + " " + mutant.where;
        }
        programs[rank] = original;
    }
    return report;
}

}  // namespace

MutationReport& MutationReport::operator+=(const MutationReport& other) {
    mutants += other.mutants;
    equivalent += other.equivalent;
    refused += other.refused;
    for (const auto& [kind, theirs] : other.survivors) {
        Survivors& ours = survivors[kind];
        if (ours.count == 0) ours.example = theirs.example;
        ours.count += theirs.count;
    }
    return *this;
}

MutationReport mutate(const Problem& problem, const Algorithm& algorithm, const Cut& cut) {
    std::vector<Schedule> schedules;
    std::vector<Plan> plans;
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
        schedules.push_back(generate(problem, algorithm, cut, rank));
        plans.push_back(compile(problem, schedules.back(), {}));
    }
    const std::string name = std::string(name_of(problem.collective)) + " " + std::string(algorithm.name) + (problem.in_place ? " in place" : "");
    MutationReport report = judge(problem, name + ", schedule", std::move(schedules));
    report += judge(problem, name + ", plan", std::move(plans));
    return report;
}

MutationReport mutate_plans(const Problem& problem, const Algorithm& algorithm, const Cut& cut, const CompileOptions& options) {
    const auto schedule_of = [&](Rank rank) { return generate(problem, algorithm, cut, rank); };
    std::vector<Plan> plans;
    for (Rank rank = 0; rank < problem.ranks; ++rank)
        plans.push_back(compile(problem, schedule_of(rank), options, schedules_known_to_all(problem) ? ScheduleOf(schedule_of) : ScheduleOf{}));
    const std::string name = std::string(name_of(problem.collective)) + " " + std::string(algorithm.name) + (problem.in_place ? " in place" : "");
    return judge(problem, name + ", plan " + std::string(name_of(options.protocol)), std::move(plans));
}

}  // namespace attune::test
