#include "apps/tools/bench/list.hpp"

#include "apps/tools/bench/problems.hpp"
#include "apps/tools/bench/report.hpp"
#include "apps/tools/support/table.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/transport/process_memory.hpp"
#include "collectives/transport/tcp_options.hpp"

#include <fmt/format.h>

#include <vector>

namespace attune::tools::bench {

namespace {

using collectives::Algorithm;
using collectives::Constraints;
using collectives::StreamFacts;

std::vector<const Algorithm*> algorithms_of(const Options& options) {
    std::vector<const Algorithm*> all;
    for (const collectives::Collective collective : collectives_of(options)) {
        for (const Algorithm* algorithm : collectives::algorithms_for(collective))
            all.push_back(algorithm);
    }
    return all;
}

// Axes whose value an algorithm may be given; those of messages apply to all.
std::vector<std::string> parameters_of(const Algorithm& algorithm, const StreamFacts& streams) {
    std::vector<std::string> names;
    if (algorithm.constraints.segmentable) names.emplace_back("segment_bytes");
    if (algorithm.constraints.splittable) names.emplace_back("channels");
    for (const char* name : {"protocol", "inline_bytes", "staging_stores", "nontemporal_bytes"})
        names.emplace_back(name);
    if (streams.any) names.insert(names.end(), {"socket_buffer_bytes", "congestion_control"});
    return names;
}

std::vector<std::string> constraints_of(const Constraints& limits) {
    std::vector<std::string> words;
    if (limits.minimum_ranks > 1) words.push_back(fmt::format("at least {} ranks", limits.minimum_ranks));
    if (limits.power_of_two_ranks) words.emplace_back("power of two");
    if (limits.even_ranks) words.emplace_back("even ranks");
    if (!limits.in_place) words.emplace_back("out of place");
    if (limits.needs_buffered_sends) words.emplace_back("needs buffered sends");
    if (limits.uses_nodes) words.emplace_back("follows the node map");
    return words;
}

// Why messages cannot go straight from buffer to buffer here, or nothing.
std::string direct_refusal(const Options& options) {
    if (options.transport == "local") return {};
    if (options.transport != "shm") return fmt::format("transport {} cannot copy between the buffers of two ranks", options.transport);
    return collectives::direct_refusal_here();
}

std::vector<std::string> protocols(const std::string& refusal) {
    std::vector<std::string> words = {"staged", "inline"};
    if (refusal.empty()) words.insert(words.end(), {"cma_get", "cma_put", "mixed"});
    return words;
}

std::string joined(const std::vector<std::string>& words, const char* separator) {
    return fmt::format("{}", fmt::join(words, separator));
}

}  // namespace

std::string list_text(const Options& options) {
    const StreamFacts streams = collectives::stream_facts_here(options.transport);
    Table table({{"collective", Align::left},
                 {"algorithm", Align::left},
                 {"version", Align::right},
                 {"constraints", Align::left},
                 {"parameters", Align::left},
                 {"aliases", Align::left}});
    for (const Algorithm* algorithm : algorithms_of(options)) {
        table.add_row({std::string(name_of(algorithm->collective)), std::string(algorithm->name), std::to_string(algorithm->version),
                       joined(constraints_of(algorithm->constraints), ", "), joined(parameters_of(*algorithm, streams), " "),
                       joined(collectives::aliases_of(algorithm->collective, algorithm->name), " ")});
    }
    const std::string refusal = direct_refusal(options);
    std::string text = table.text() + fmt::format("\nprotocol: {}{}\n", joined(protocols(refusal), ", "),
                                                  refusal.empty() ? "" : fmt::format("; cma_get, cma_put and mixed are not possible: {}", refusal));
    if (streams.any) text += fmt::format("congestion_control: {}\n", joined(streams.congestion_controls, ", "));
    return text;
}

std::string list_csv(const Options& options) {
    const StreamFacts streams = collectives::stream_facts_here(options.transport);
    std::string text = "collective,algorithm,version,constraints,parameters,aliases\n";
    for (const Algorithm* algorithm : algorithms_of(options)) {
        text += fmt::format("{},{},{},{},{},{}\n", name_of(algorithm->collective), algorithm->name, algorithm->version,
                            csv_field(joined(constraints_of(algorithm->constraints), ", ")), joined(parameters_of(*algorithm, streams), " "),
                            joined(collectives::aliases_of(algorithm->collective, algorithm->name), " "));
    }
    return text;
}

Json list_json(const Options& options) {
    Json document = json_document("attune.list/1");
    const std::string refusal = direct_refusal(options);
    const StreamFacts streams = collectives::stream_facts_here(options.transport);
    document["protocols"] = protocols(refusal);
    document["congestion_controls"] = streams.congestion_controls;
    document["direct_refusal"] = refusal.empty() ? Json() : Json(refusal);
    document["algorithms"] = Json::array();
    for (const Algorithm* algorithm : algorithms_of(options)) {
        Json entry = {{"collective", name_of(algorithm->collective)}, {"algorithm", algorithm->name}, {"version", algorithm->version}};
        const Constraints& limits = algorithm->constraints;
        entry["constraints"] = {
            {"minimum_ranks", limits.minimum_ranks}, {"power_of_two_ranks", limits.power_of_two_ranks},     {"even_ranks", limits.even_ranks},
            {"in_place", limits.in_place},           {"needs_buffered_sends", limits.needs_buffered_sends}, {"uses_nodes", limits.uses_nodes}};
        entry["parameters"] = parameters_of(*algorithm, streams);
        entry["aliases"] = collectives::aliases_of(algorithm->collective, algorithm->name);
        entry["citation"] = algorithm->citation;
        document["algorithms"].push_back(entry);
    }
    return document;
}

}  // namespace attune::tools::bench
