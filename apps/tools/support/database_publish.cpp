// A release from the journal, without measuring anything.
#include "apps/tools/support/database.hpp"
#include "apps/tools/support/run_tool.hpp"
#include "apps/tools/support/table.hpp"
#include "collectives/default_config.hpp"
#include "libcore/error.hpp"
#include "libcore/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attune::tools {

using core::Error;
using core::ErrorCode;

namespace {

Json rejected_json(const tuner::TestedPoint& point) {
    return {{"key", point.key.text()}, {"bytes", point.bytes},       {"config", point.config.text()}, {"gain", json_number(point.gain)},
            {"blocks", point.blocks},  {"launches", point.launches}, {"reason", point.reason}};
}

}  // namespace

Publication publish(const Machine& machine, const ReleaseTarget& target) {
    require_publishable(target);
    const db::Identity& identity = machine.identity;
    const db::Journal journal = db::Journal::open_for_reading(target.journal);
    const std::vector<db::Trial> trials = journal.trials(identity);
    if (trials.empty()) throw Error(ErrorCode::not_found, target.journal + ": holds no trial of this machine; start attune-tune");
    Publication out;
    out.release = target.release;
    out.damaged = journal.damaged();
    const auto default_of = [&machine](const collectives::Problem& problem) { return collectives::default_config(problem, machine.topology); };
    out.selection = tuner::select_rows(trials, identity, tuner::publish_options(journal, default_of));
    db::ReleaseContent content = tuner::release_content(journal, identity, out.selection);
    content.context = journal.context(identity);
    content.tool_version = version();
    out.rows = content.rows.size();
    // Rows that the journal knows nothing about stay; a damaged release is put aside by write_release(), with a notice.
    out.notices = db::write_release(target.release, std::move(content), [&out](db::ReleaseContent& all, const db::ReleaseContent& existing) {
        tuner::keep_untested_rows(all, existing, out.selection);
        out.rows = all.rows.size();
    });
    return out;
}

std::string publish_text(const Publication& publication) {
    const tuner::Selection& selection = publication.selection;
    std::string out = fmt::format("{}: {} rows for this machine, {} of them from this journal\n", publication.release, publication.rows, selection.rows.size());
    if (publication.damaged > 0) out += fmt::format("{} damaged trials were skipped\n", publication.damaged);
    if (selection.rejected.empty()) return out;
    Table table({{"not proven", Align::left}, {"bytes"}, {"gain"}, {"blocks"}, {"config", Align::left}, {"reason", Align::left}});
    for (const tuner::TestedPoint& point : selection.rejected)
        table.add_row({point.key.collective, core::format_bytes(point.bytes), fmt::format("{:.2f}x", point.gain), std::to_string(point.blocks),
                       point.config.text(), point.reason});
    return out + "\n" + table.text();
}

Json publish_json(const Publication& publication) {
    Json document = json_document("attune.db_publish/1");
    document["release"] = publication.release;
    document["rows"] = publication.rows;
    document["from_journal"] = publication.selection.rows.size();
    document["damaged_trials"] = publication.damaged;
    document["rejected"] = Json::array();
    for (const tuner::TestedPoint& point : publication.selection.rejected)
        document["rejected"].push_back(rejected_json(point));
    return document;
}

}  // namespace attune::tools
