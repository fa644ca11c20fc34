// The database as attune-db shows it: layers, rows of all of them, files checked.
#pragma once

#include "apps/tools/support/json.hpp"
#include "apps/tools/support/machine.hpp"
#include "apps/tools/support/release_target.hpp"
#include "db/lookup.hpp"
#include "tuner/publish.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attune::tools {

// What every subcommand looks at.
struct DatabaseView {
    Machine machine;
    db::Loaded loaded;
    bool switched_off = false;            // by ATTUNE_DB_MODE=off: a job uses nothing of it
    std::optional<ReleaseTarget> target;  // where publishing writes; nothing for a user without a home
};
DatabaseView view_database(const core::Environment& environment, const TargetWish& wish);

// One row of a layer, of any machine.
struct ListedRow {
    db::ReleaseRow row;
    std::string file;
    bool here = false;  // this machine's
};
// Rows of all readable layers; those that a job on this machine would see come as they are overlaid.
std::vector<ListedRow> rows_here(const DatabaseView& view);
std::vector<ListedRow> rows_anywhere(const DatabaseView& view);

// attune-db where
std::string where_text(const DatabaseView& view);
Json where_json(const DatabaseView& view);
// attune-db list
std::string list_text(const std::vector<ListedRow>& rows);
Json list_json(const std::vector<ListedRow>& rows);
// attune-db show: rows whose id starts with, or whose key is, `wanted`. Throws Error(not_found).
std::vector<ListedRow> find_rows(const DatabaseView& view, const std::string& wanted);
std::string show_text(const std::vector<ListedRow>& rows, const db::Identity& current);
Json show_json(const std::vector<ListedRow>& rows, const db::Identity& current);

// attune-db verify: releases and journals.
struct FileCheck {
    std::string file;
    std::string kind;    // "release" or "journal"
    int code = 0;        // 0, 3 no such file, 4 damaged
    std::string reason;  // what it holds, or what is wrong
    std::size_t rows = 0;
};
FileCheck check_file(const std::string& path);
FileCheck check_journal(const std::string& path);  // as a journal, whatever the file says of itself; an empty one holds no trial yet
// Existing files among the layers, and the journal.
std::vector<FileCheck> check_files_in_use(const DatabaseView& view);
Json verify_json(const std::vector<FileCheck>& checks);

// attune-db publish: the rules of attune-tune over everything the journal holds about this machine. Throws Error(not_found) when that is nothing.
struct Publication {
    std::string release;
    tuner::Selection selection;
    std::size_t rows = 0;     // of this machine in the release now, earlier ones that were not re-tested included
    std::size_t damaged = 0;  // trials skipped
    std::vector<std::string> notices;
};
Publication publish(const Machine& machine, const ReleaseTarget& target);
std::string publish_text(const Publication& publication);
Json publish_json(const Publication& publication);

// Name, stored and current value of every field; the last column marks differences.
std::string identity_text(const db::Identity& stored, const db::Identity& current, const std::string& title);

}  // namespace attune::tools
