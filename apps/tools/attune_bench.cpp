// attune-bench: times collectives, proves their results, compares default and tuned.
#include "apps/tools/bench/foreign_options.hpp"
#include "apps/tools/bench/run.hpp"
#include "apps/tools/support/run_tool.hpp"
#include "libcore/environment.hpp"
#include "tuner/arena_factory.hpp"

#include <cstddef>
#include <memory>
#include <string_view>

namespace {

namespace tools = attune::tools;

tools::Body set_up(CLI::App& app) {
    const auto options = std::make_shared<tools::bench::Options>();
    tools::bench::add_options(app, *options);
    return [&app, options] {
        tools::bench::apply_environment(app, attune::core::read_environment(), *options);
        return tools::bench::run(*options);
    };
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == attune::tuner::arena_rank_word) return attune::tuner::arena_rank_main();
    const tools::ToolInfo info = {"attune-bench", "Times collectives between ranks: all, or names such as all_reduce and send_recv (see --list).",
                                  "attune-bench all_reduce -n 4 -b 8 -e 16M -f 8 --check\n  attune-bench --compare default,tuned --rows"};
    return tools::run_tool(info, argc, argv, [&](CLI::App& app) {
        tools::bench::refuse_foreign_words({argv, static_cast<std::size_t>(argc)});
        return set_up(app);
    });
}
