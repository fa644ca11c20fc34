#include "apps/tools/support/database.hpp"

#include "db/one_line.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attune::tools {

using core::Error;
using core::ErrorCode;

namespace {

constexpr std::size_t shortest_id = 4;

FileCheck read_journal(const std::string& path) {
    const db::Journal journal = db::Journal::open_for_reading(path);
    FileCheck check{path, "journal", 0, {}, 0};
    for (const db::Identity& identity : journal.identities())
        check.rows += journal.trials(identity).size();
    if (journal.damaged() > 0) {
        check.code = static_cast<int>(ErrorCode::check_failed);
        check.reason = fmt::format("{} of {} trials are damaged; they are skipped", journal.damaged(), check.rows + journal.damaged());
    } else {
        check.reason = fmt::format("{} trials of {} machines", check.rows, journal.identities().size());
    }
    return check;
}

FileCheck check_release(const std::string& path) {
    const db::ReleaseContent content = db::read_release(path);
    return {path, "release", 0, fmt::format("{} rows of {} machines, published {}", content.rows.size(), content.identities.size(), content.utc),
            content.rows.size()};
}

// Whatever keeps the file from being read, it has not passed.
FileCheck checked(const std::string& path, const std::string& kind, FileCheck (*check)(const std::string&)) {
    try {
        return check(path);
    } catch (const Error& error) {
        const ErrorCode code = error.code() == ErrorCode::not_found ? ErrorCode::not_found : ErrorCode::check_failed;
        return {path, kind, static_cast<int>(code), db::reason_of(path, error.what()), 0};
    }
}

}  // namespace

DatabaseView view_database(const core::Environment& environment, const TargetWish& wish) {
    DatabaseView view;
    view.machine = this_machine(environment);
    view.target = find_release_target(environment, wish);
    db::Rules rules = rules_of(environment, view.machine.topology);
    view.switched_off = rules.mode == db::Mode::off;
    rules.mode = db::Mode::use;  // what is there is shown all the same
    view.loaded = db::load(db::layers(environment, wish.release.value_or("")), view.machine.identity, rules);
    return view;
}

std::vector<ListedRow> rows_here(const DatabaseView& view) {
    std::vector<ListedRow> out;
    for (std::size_t i = 0; i < view.loaded.rows.size(); ++i)
        out.push_back({view.loaded.rows[i], view.loaded.layers.at(view.loaded.row_layers.at(i)).layer.path, true});
    return out;
}

std::vector<ListedRow> rows_anywhere(const DatabaseView& view) {
    std::vector<ListedRow> out;
    for (const db::LayerState& state : view.loaded.layers) {
        if (state.state != "used" && state.state != "other machine") continue;
        for (db::ReleaseRow& row : db::read_release(state.layer.path).rows) {
            const bool here = row.identity == view.machine.identity;
            out.push_back({std::move(row), state.layer.path, here});
        }
    }
    return out;
}

std::vector<ListedRow> find_rows(const DatabaseView& view, const std::string& wanted) {
    std::vector<ListedRow> rows = rows_anywhere(view);
    const bool may_be_id = wanted.size() >= shortest_id;
    std::erase_if(rows, [&](const ListedRow& row) { return row.row.row.key.text() != wanted && !(may_be_id && row.row.id.starts_with(wanted)); });
    if (rows.empty()) {
        throw Error(ErrorCode::not_found, fmt::format("no row has the key or an id that begins with '{}' (at least {} digits); attune-db list --all shows them",
                                                      wanted, shortest_id));
    }
    return rows;
}

FileCheck check_journal(const std::string& path) {
    return checked(path, "journal", read_journal);
}

FileCheck check_file(const std::string& path) {
    return db::is_journal(path) ? check_journal(path) : checked(path, "release", check_release);
}

std::vector<FileCheck> check_files_in_use(const DatabaseView& view) {
    std::vector<FileCheck> out;
    for (const db::LayerState& state : view.loaded.layers)
        if (state.state != "missing") out.push_back(check_file(state.layer.path));
    if (view.target && core::file_exists(view.target->journal)) out.push_back(check_journal(view.target->journal));
    return out;
}

}  // namespace attune::tools
