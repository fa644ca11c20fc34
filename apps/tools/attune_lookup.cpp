// attune-lookup: what a job would use for a collective and a size, and why.
#include "apps/tools/support/lookup_answer.hpp"
#include "apps/tools/support/options.hpp"
#include "apps/tools/support/run_tool.hpp"
#include "collectives/sample_amounts.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/units.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace {

namespace tools = attune::tools;
namespace core = attune::core;
namespace collectives = attune::collectives;
namespace db = attune::db;

struct Options {
    std::string collective;
    std::optional<std::string> size;
    int ranks = 2;
    std::string dtype = "float32";
    std::string op = "sum";
    int root = 0;
    std::string transport;  // empty = the usual one for the nodes
    tools::NodeOptions nodes;
    std::string binding;
    std::optional<std::string> db;
    bool in_place = false;
    bool explain = false;
    bool json = false;
    bool require = false;
};

core::Error usage(const std::string& message) {
    return core::Error(core::ErrorCode::usage, message);
}

tools::LookupQuery query_of(const Options& options) {
    tools::LookupQuery query;
    collectives::Problem& problem = query.problem;
    problem.collective = collectives::parse_collective(options.collective);
    problem.ranks = options.ranks;
    problem.dtype = core::parse_dtype(options.dtype);
    problem.op = core::parse_op(options.op);
    problem.root = options.root;
    problem.in_place = options.in_place;
    problem.node_map = options.nodes.text(options.ranks);
    if (const auto why = core::unsupported(problem.dtype, problem.op); why && collectives::reduces(problem.collective)) throw usage(*why);
    const bool barrier = problem.collective == collectives::Collective::barrier;
    if (problem.in_place && !collectives::has_in_place(problem.collective)) throw usage(options.collective + " has no in-place form");
    if (!options.size && !barrier) throw usage(options.collective + " needs a SIZE, such as 64K");
    if (options.root < 0 || options.root >= options.ranks) throw usage(fmt::format("root {} is outside 0 to {}", options.root, options.ranks - 1));
    query.asked_bytes = barrier ? 0 : core::parse_bytes(*options.size);
    problem = collectives::with_elements(problem, query.asked_bytes / core::size_of(problem.dtype));
    const std::string usual = tools::transport_of(core::read_environment()).value_or(options.nodes.transport(options.ranks));
    query.transport = options.transport.empty() ? usual : options.transport;
    query.binding = options.binding;
    return query;
}

tools::LookupSources sources_of(const Options& options, const core::Environment& environment, const core::Topology& topology) {
    tools::LookupSources sources{db::layers(environment, options.db.value_or("")), tools::rules_of(environment, topology), environment.force.value_or("")};
    if (!options.require) return sources;
    if (sources.rules.mode == db::Mode::off) throw usage("--require contradicts ATTUNE_DB_MODE=off; leave one of them out");
    sources.rules.mode = db::Mode::require;
    return sources;
}

int run(const Options& options) {
    const tools::LookupQuery query = query_of(options);
    const core::Environment environment = core::read_environment();
    const tools::Machine machine = tools::this_machine(environment);
    const tools::LookupSources sources = sources_of(options, environment, machine.topology);
    const tools::LookupAnswer answer = tools::look_up(query, machine, sources);
    const int code = answer.exit_code();
    if (options.json) {
        tools::print_json(tools::lookup_json(answer, machine.topology));
    } else {
        std::fputs(tools::lookup_text(answer).c_str(), stdout);
        if (options.explain) std::fputs(tools::explain_text(answer).c_str(), stdout);
    }
    std::fflush(stdout);
    if (code != 0) {
        std::fprintf(stderr, "attune-lookup: %s\n", answer.message().c_str());
        return code;
    }
    for (const std::string& line : answer.loaded.warnings)
        std::fprintf(stderr, "attune-lookup: warning: %s\n", line.c_str());
    return 0;
}

tools::Body set_up(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    options->ranks = tools::default_ranks();
    app.add_option("COLLECTIVE", options->collective, "all_reduce, broadcast ... (attune-bench --list has them all)")->required()->type_name("");
    app.add_option("SIZE", options->size, "Bytes of the larger buffer: 8, 64K, 4M (none for barrier)")->type_name("");
    tools::add_ranks_option(app, options->ranks)->description("Ranks of the job; default: the launcher's, else one for each allowed CPU");
    app.add_option("-d,--dtype", options->dtype, "Element type: float32, bfloat16, int8 ...")->type_name("WORD");
    app.add_option("-o,--op", options->op, "sum | prod | min | max | avg | band | bor | bxor")->type_name("WORD");
    app.add_option("-r,--root", options->root, "Root of a collective that has one")->type_name("N");
    tools::add_transport_option(app, options->transport);
    tools::add_node_options(app, options->nodes);
    tools::add_word_option(app, "--binding", options->binding, {"binding", {"bound", "unbound"}, "bound or unbound; default: bound when the CPUs suffice"});
    app.add_flag("--in-place", options->in_place, "The call uses one buffer");
    tools::add_db_option(app, options->db);
    app.add_flag("--explain", options->explain, "Also every file tried, the identities compared, rows nearby, and the command that would tune this");
    app.add_flag("--require", options->require, "Exit 3 when no row applies and 4 when a file is damaged (as ATTUNE_DB_MODE=require)");
    tools::add_json_option(app, options->json);
    return [options] { return run(*options); };
}

}  // namespace

int main(int argc, char** argv) {
    const tools::ToolInfo info = {"attune-lookup", "Says what a job would use for a collective and a size, and why.",
                                  "attune-lookup all_reduce 64K -n 4 --explain"};
    return tools::run_tool(info, argc, argv, set_up);
}
