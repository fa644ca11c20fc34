// attune-db: where the tuning database is, what it holds, whether it is sound, and publishing it from the journal.
#include "apps/tools/support/database.hpp"
#include "apps/tools/support/grid.hpp"
#include "apps/tools/support/options.hpp"
#include "apps/tools/support/run_tool.hpp"
#include "collectives/problem.hpp"
#include "db/one_line.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace {

namespace tools = attune::tools;
namespace core = attune::core;
namespace collectives = attune::collectives;
namespace db = attune::db;

struct Options {
    std::optional<std::string> db;
    std::optional<std::string> journal;
    bool json = false;
    bool all = false;
    std::string collective;
    std::string wanted;              // show: a key or a row's id
    std::vector<std::string> files;  // verify
};

tools::DatabaseView view_of(const Options& options) {
    return tools::view_database(core::read_environment(), {options.db, options.journal});
}

void print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
}

void warn(const tools::DatabaseView& view) {
    for (const std::string& line : view.loaded.warnings)
        std::fprintf(stderr, "attune-db: warning: %s\n", line.c_str());
    if (view.switched_off) std::fputs("attune-db: warning: a job uses none of it: ATTUNE_DB_MODE=off\n", stderr);
}

// What a job would run into: 4 for a damaged file, 3 for a named one that is missing.
int exit_code(const db::Loaded& loaded) {
    core::ErrorCode code{};
    for (const db::LayerState& state : loaded.layers) {
        if (state.state == "damaged") return static_cast<int>(core::ErrorCode::check_failed);
        if (state.state == "missing" && state.layer.named) code = core::ErrorCode::not_found;
    }
    return static_cast<int>(code);
}

int where(const Options& options) {
    const tools::DatabaseView view = view_of(options);
    options.json ? tools::print_json(tools::where_json(view)) : print(tools::where_text(view));
    return 0;
}

int list(const Options& options) {
    if (!options.collective.empty()) collectives::parse_collective(options.collective);
    const tools::DatabaseView view = view_of(options);
    std::vector<tools::ListedRow> rows = options.all ? rows_anywhere(view) : rows_here(view);
    if (!options.collective.empty()) std::erase_if(rows, [&](const tools::ListedRow& row) { return row.row.row.key.collective != options.collective; });
    warn(view);
    if (options.json) {
        tools::print_json(tools::list_json(rows));
    } else if (rows.empty()) {
        print(fmt::format("No row{}; attune-db where shows the files looked at.\n", options.all ? "" : " for this machine"));
    } else {
        print(tools::list_text(rows));
    }
    return exit_code(view.loaded);
}

// Default against tuned, as far as release and journal of this machine know.
int show_grid(const Options& options) {
    const tools::DatabaseView view = view_of(options);
    if (options.json) throw core::Error(core::ErrorCode::usage, "show --json needs a KEY or a ROW; for all rows use attune-db list --json");
    std::vector<db::Trial> trials;
    const std::string journal = view.target ? view.target->journal : "";
    if (core::file_exists(journal)) trials = db::Journal::open_for_reading(journal).trials(view.machine.identity);
    warn(view);
    const std::string grid = tools::grid_text(tools::make_grid(trials, view.loaded.rows));
    if (grid.empty()) throw core::Error(core::ErrorCode::not_found, "nothing was tuned on this machine yet; start attune-tune");
    print(grid);
    print(fmt::format("\ngain = default / tuned with its 99 % interval; same: nothing was proven faster than the default\n{}\n",
                      view.target ? view.target->release : view.loaded.origin));
    return 0;
}

int show(const Options& options) {
    if (options.wanted.empty()) return show_grid(options);
    const tools::DatabaseView view = view_of(options);
    const std::vector<tools::ListedRow> rows = tools::find_rows(view, options.wanted);
    options.json ? tools::print_json(tools::show_json(rows, view.machine.identity)) : print(tools::show_text(rows, view.machine.identity));
    return 0;
}

int verify(const Options& options) {
    std::vector<tools::FileCheck> checks;
    if (options.files.empty()) checks = tools::check_files_in_use(view_of(options));
    for (const std::string& file : options.files)
        checks.push_back(tools::check_file(file));
    if (checks.empty()) throw core::Error(core::ErrorCode::not_found, "there is no file to verify yet; attune-db where shows the paths");
    const int code = std::ranges::max(checks, {}, &tools::FileCheck::code).code;
    if (options.json) tools::print_json(tools::verify_json(checks));
    for (const tools::FileCheck& check : checks) {
        if (check.code != 0) std::fprintf(stderr, "attune-db: %s: %s\n", db::one_line(check.file).c_str(), check.reason.c_str());
        if (check.code == 0 && !options.json) print(fmt::format("{}: sound {}: {}\n", check.file, check.kind, check.reason));
    }
    return code;
}

int publish(const Options& options) {
    const core::Environment environment = core::read_environment();
    const tools::ReleaseTarget target = tools::release_target(environment, {options.db, options.journal});
    const tools::Publication publication = tools::publish(tools::this_machine(environment), target);
    for (const std::string& notice : publication.notices)
        std::fprintf(stderr, "attune-db: warning: %s\n", notice.c_str());
    options.json ? tools::print_json(tools::publish_json(publication)) : print(tools::publish_text(publication));
    return 0;
}

// A subcommand that reads the database; `chosen` becomes what the process does.
CLI::App* add_reader(CLI::App& app, const std::string& name, const std::string& description, Options& options) {
    CLI::App* command = app.add_subcommand(name, description);
    tools::add_db_option(*command, options.db);
    tools::add_journal_option(*command, options.journal);
    tools::add_json_option(*command, options.json);
    return command;
}

tools::Body set_up(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    const auto chosen = std::make_shared<int (*)(const Options&)>(nullptr);
    const auto runs = [chosen](CLI::App* command, int (*body)(const Options&)) { command->callback([chosen, body] { *chosen = body; }); };
    app.require_subcommand(1);
    CLI::App* finder = add_reader(app, "where", "The files a job looks at, their state and why, and the journal", *options);
    tools::set_example(*finder,
                       "attune-db where                                 in the order in which a job looks\n"
                       "attune-db where --json --db my.attune.db");
    runs(finder, where);
    CLI::App* lister = add_reader(app, "list", "The rows a job on this machine would see", *options);
    lister->add_option("--collective", options->collective, "Only rows of this collective")->type_name("WORD");
    lister->add_flag("--all", options->all, "Also rows of other machines and rows that another file overlays");
    tools::set_example(*lister, "attune-db list --collective all_reduce");
    runs(lister, list);
    CLI::App* shower = add_reader(app, "show", "One row in full, by key or by (the beginning of) its id; without either: default against tuned", *options);
    shower->add_option("ROW", options->wanted, "Key or id, as list --json prints them")->type_name("");
    tools::set_example(*shower,
                       "attune-db show                                  default against tuned, as after tuning\n"
                       "attune-db show 3f9a21c4                         a row, by the beginning of its id in list");
    runs(shower, show);
    CLI::App* verifier = add_reader(app, "verify", "Check releases and journals completely; exit 4 when one is damaged", *options);
    verifier->add_option("FILE", options->files, "Default: the files in use")->type_name("");
    tools::set_example(*verifier, "attune-db verify my.attune.db my.attune.journal");
    runs(verifier, verify);
    CLI::App* publisher = add_reader(app, "publish", "Write the release anew from what the journal proves about this machine", *options);
    tools::set_example(*publisher, "attune-db publish --db my.attune.db --journal old.attune.journal");
    runs(publisher, publish);
    return [options, chosen] { return (*chosen)(*options); };
}

}  // namespace

int main(int argc, char** argv) {
    const tools::ToolInfo info = {"attune-db", "Shows, checks and publishes the tuning database.", "attune-db list --collective all_reduce"};
    return tools::run_tool(info, argc, argv, set_up);
}
