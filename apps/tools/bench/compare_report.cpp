#include "apps/tools/bench/compare_report.hpp"

#include "apps/tools/bench/report.hpp"
#include "apps/tools/support/table.hpp"
#include "libcore/units.hpp"

#include <fmt/format.h>

namespace attune::tools::bench {

namespace {

using tuner::Comparison;
using tuner::Verdict;

std::string percent(double fraction) {
    return fmt::format("{:.1f} %", 100 * fraction);
}

std::string painted(const Paint& paint, Verdict verdict) {
    const std::string_view word = name_of(verdict);
    switch (verdict) {
        case Verdict::faster:
            return paint.green(word);
        case Verdict::slower:
            return paint.red(word);
        case Verdict::inconclusive:
            return paint.yellow(word);
        case Verdict::same:
            break;
    }
    return std::string(word);
}

std::string problem_text(const collectives::Problem& problem) {
    std::string text(name_of(problem.collective));
    if (collectives::reduces(problem.collective)) text += fmt::format(" {} {}", core::name_of(problem.dtype), core::name_of(problem.op));
    return text + (problem.in_place ? " in place" : "");
}

// What the second config changes of the first.
std::string change_text(const Pair& pair) {
    std::string text;
    for (const auto& [name, value] : pair.tuned_config.entries()) {
        if (pair.default_config.get(name) == std::string_view(value)) continue;
        text += (text.empty() ? "" : ",") + (name == "algorithm" ? value : name + "=" + value);
    }
    return text.empty() ? "(default)" : text;
}

std::vector<std::string> cells_of(const Pair& pair, const Paint& paint) {
    const Comparison& c = pair.result;
    std::vector<std::string> cells = {problem_text(pair.problem), core::format_bytes(bytes_of(pair.problem)), std::to_string(pair.problem.ranks),
                                      pair.team.transport};
    if (!pair.reason.empty()) {
        cells.insert(cells.end(), {"-", "-", "-", "-", "-", "-", "-", paint.red("failed"), pair.reason});
        return cells;
    }
    const bool compared = !pair.untuned();
    cells.insert(cells.end(), {c.placement, core::format_time_us(c.default_us), core::format_time_us(c.tuned_us),
                               compared ? fmt::format("{:.3f}", c.ratio) : "1", compared ? fmt::format("{:.3f} .. {:.3f}", c.low, c.high) : "-",
                               compared ? percent(c.floor) : "-", compared ? std::to_string(c.blocks) : "-", painted(paint, c.verdict), change_text(pair)});
    return cells;
}

Json number_or_null(bool known, double value) {
    return known ? json_number(value) : Json(nullptr);
}

Json pair_json(const Pair& pair) {
    const Comparison& c = pair.result;
    const bool measured = pair.reason.empty();
    const bool compared = measured && !pair.untuned();
    Json json = {{"key", pair.key}, {"bytes", bytes_of(pair.problem)}, {"count", count_of(pair.problem)}};
    json["placement"] = measured ? Json(c.placement) : Json(nullptr);
    json["default_us"] = number_or_null(measured, c.default_us);
    json["tuned_us"] = number_or_null(measured, c.tuned_us);
    json["ratio"] = number_or_null(measured, c.ratio);
    json["ci_low"] = number_or_null(compared, c.low);
    json["ci_high"] = number_or_null(compared, c.high);
    json["floor"] = number_or_null(compared, c.floor);
    json["blocks"] = c.blocks;
    json["launches"] = c.launches;
    json["verdict"] = measured ? name_of(c.verdict) : "inconclusive";
    json["default_config"] = pair.default_config.text();
    json["tuned_config"] = pair.tuned_config.text();
    json["published_gain"] = number_or_null(!pair.untuned(), pair.published_gain);
    json["reason"] = measured ? Json(nullptr) : Json(pair.reason);
    return json;
}

}  // namespace

std::string compare_text(const Options& options, const Pairs& pairs, const Paint& paint) {
    const std::string& first = options.compare.front();
    const std::string& second = options.compare.back();
    Table table({{"collective", Align::left},
                 {"size"},
                 {"ranks"},
                 {"transport", Align::left},
                 {"placement", Align::left},
                 {first},
                 {second},
                 {second + "/" + first},
                 {"99 % interval"},
                 {"floor"},
                 {"blocks"},
                 {"verdict", Align::left},
                 {second + " choice", Align::left}});
    for (const Pair& pair : pairs.pairs)
        table.add_row(cells_of(pair, paint));
    std::string text = table.text();
    for (const std::string& skipped : pairs.skipped)
        text += "skipped " + skipped + "\n";
    return text;
}

std::string summary_text(const Verdicts& v) {
    std::string text =
        fmt::format("{} faster, {} same, {} slower, {} inconclusive ({} allowed)", v.faster, v.same, v.slower, v.inconclusive, v.allowed_inconclusive);
    if (v.failed != 0) text += fmt::format(", {} failed", v.failed);
    return text + "\n";
}

Json compare_json(const Options& options, const Machine& machine, const Pairs& pairs) {
    Json document = json_document("attune.compare/1", machine.topology);
    document["database"] = machine.loaded.origin.empty() ? Json(nullptr) : Json(machine.loaded.origin);
    document["sides"] = options.compare;
    document["rows"] = options.rows;
    document["results"] = Json::array();
    for (const Pair& pair : pairs.pairs)
        document["results"].push_back(pair_json(pair));
    const Verdicts v = count_verdicts(pairs.pairs);
    document["summary"] = {{"faster", v.faster}, {"same", v.same},
                           {"slower", v.slower}, {"inconclusive", v.inconclusive},
                           {"failed", v.failed}, {"allowed_inconclusive", v.allowed_inconclusive}};
    document["skipped"] = pairs.skipped;
    return document;
}

std::string compare_csv(const Pairs& pairs) {
    std::string text = "key,bytes,placement,default_us,tuned_us,ratio,ci_low,ci_high,floor,blocks,launches,verdict,tuned_config,reason\n";
    for (const Pair& pair : pairs.pairs) {
        const Comparison& c = pair.result;
        text += fmt::format("{},{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{},{},{},{},{}\n", csv_field(pair.key), bytes_of(pair.problem), c.placement,
                            c.default_us, c.tuned_us, c.ratio, c.low, c.high, c.floor, c.blocks, c.launches, name_of(c.verdict),
                            csv_field(pair.tuned_config.text()), csv_field(pair.reason));
    }
    return text;
}

}  // namespace attune::tools::bench
