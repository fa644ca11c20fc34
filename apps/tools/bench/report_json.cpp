// attune.bench/1 and CSV.
#include "apps/tools/bench/report.hpp"

#include "collectives/node_map.hpp"

#include <fmt/format.h>

namespace attune::tools::bench {

namespace {

bool proven(const collectives::Choice& choice) {
    return choice.source == collectives::ChoiceSource::tuned && choice.match != collectives::Match::none;
}

std::string op_of(const collectives::Problem& problem) {
    return collectives::reduces(problem.collective) ? std::string(core::name_of(problem.op)) : "none";
}

Json optional_text(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

Json times_json(const Times& times) {
    return {{"median", times.median_us}, {"ci_low", times.low_us}, {"ci_high", times.high_us},      {"min", times.minimum_us},
            {"p95", times.p95_us},       {"p99", times.p99_us},    {"iterations", times.iterations}};
}

Json rank_times(const Cell& cell) {
    return cell.rank_us.empty() ? Json(nullptr) : Json(cell.rank_us);
}

void add_measured(Json& json, const Cell& cell) {
    json["placement"] = optional_text(cell.placement);
    json["launches"] = cell.times ? 1 : 0;
    json["batch"] = cell.batch;
    json["time_us"] = cell.times ? times_json(*cell.times) : Json(nullptr);
    json["rank_us"] = rank_times(cell);
    json["limit_us"] = json_number(cell.limit_us);
    json["algbw_gbps"] = json_number(cell.algorithm_bandwidth());
    json["busbw_gbps"] = json_number(cell.bus_bandwidth());
    json["messages_per_s"] = json_number(cell.message_rate());
    json["wrong"] = cell.wrong ? Json(*cell.wrong) : Json(nullptr);
    json["reason"] = optional_text(cell.reason);
}

Json cell_json(const Cell& cell) {
    const collectives::Problem& problem = cell.problem;
    Json json = {{"collective", name_of(problem.collective)}, {"ranks", problem.ranks}, {"bytes", bytes_of(problem)}, {"count", count_of(problem)},
                 {"dtype", core::name_of(problem.dtype)},     {"op", op_of(problem)}};
    json["root"] = collectives::is_rooted(problem.collective) ? Json(problem.root) : Json(nullptr);
    json["in_place"] = problem.in_place;
    json["shape"] = optional_text(cell.shape);
    json["buffers"] = "ordinary";
    json["algorithm"] = optional_text(cell.choice.config.algorithm());
    json["config"] = optional_text(cell.choice.config.text());
    json["source"] = name_of(cell.choice.source);
    json["proven"] = proven(cell.choice);
    json["match"] = name_of(cell.choice.match);
    add_measured(json, cell);
    return json;
}

std::string number(const std::optional<double>& value) {
    return value ? fmt::format("{:.6g}", *value) : std::string();
}

std::string csv_problem(const Cell& cell) {
    const collectives::Problem& p = cell.problem;
    return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}", name_of(p.collective), p.ranks, bytes_of(p), count_of(p), core::name_of(p.dtype), op_of(p),
                       collectives::is_rooted(p.collective) ? std::to_string(p.root) : "", p.in_place ? "true" : "false", cell.shape,
                       cell.choice.config.algorithm(), csv_field(cell.choice.config.text()), name_of(cell.choice.source), name_of(cell.choice.match),
                       cell.placement);
}

std::string csv_times(const Cell& cell) {
    if (!cell.times) return ",,,,,,,,,,,,";
    const Times& t = *cell.times;
    return fmt::format(",{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{},{},{},{},{},{}", t.median_us, t.low_us, t.high_us, t.minimum_us, t.p95_us, t.p99_us,
                       t.iterations, cell.batch, number(cell.limit_us), number(cell.algorithm_bandwidth()), number(cell.bus_bandwidth()),
                       number(cell.message_rate()));
}

// Times of the ranks lie in one field, separated by spaces.
std::string csv_judgement(const Cell& cell) {
    std::string ranks;
    for (const double us : cell.rank_us)
        ranks += fmt::format("{}{:.6g}", ranks.empty() ? "" : " ", us);
    return fmt::format(",{},{},{}\n", cell.wrong ? std::to_string(*cell.wrong) : "", csv_field(cell.reason), ranks);
}

}  // namespace

Json bench_json(const Options& options, const Machine& machine, const std::vector<Line>& lines) {
    Json document = json_document("attune.bench/1", machine.topology);
    const int ranks = options.ranks.values.front();
    const bool one = options.ranks.values.size() == 1;  // else each result says its own
    document["ranks"] = one ? Json(ranks) : Json(nullptr);
    const std::string node_map = options.nodes.text(one ? ranks : 1);
    document["nodes"] = one ? Json(collectives::NodeMap::parse(node_map).nodes()) : Json(nullptr);
    document["node_map"] = one ? Json(node_map) : Json(nullptr);
    document["transport"] = options.transport;
    document["cache"] = options.cache;
    document["mode"] = options.mode;
    document["skew"] = options.skew;
    document["database"] = optional_text(machine.loaded.origin);
    document["warnings"] = Json::array();
    for (const int count : options.ranks.values) {
        for (const std::string& warning : warnings_of(options, machine, count))
            document["warnings"].push_back(warning);
    }
    document["results"] = Json::array();
    for (const Line& line : lines) {
        for (const Cell& cell : line.cells)
            document["results"].push_back(cell_json(cell));
    }
    return document;
}

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char letter : text)
        quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
    return quoted + "\"";
}

std::string csv_titles() {
    return "collective,ranks,bytes,count,dtype,op,root,in_place,shape,algorithm,config,source,match,placement,median_us,ci_low_us,ci_high_us,min_us,p95_us,"
           "p99_us,iterations,batch,limit_us,algbw_gbps,busbw_gbps,messages_per_s,wrong,reason,rank_us\n";
}

std::string csv_text(const Line& line) {
    std::string text;
    for (const Cell& cell : line.cells)
        text += csv_problem(cell) + csv_times(cell) + csv_judgement(cell);
    return text;
}

}  // namespace attune::tools::bench
