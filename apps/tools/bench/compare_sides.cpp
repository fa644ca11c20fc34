#include "apps/tools/bench/compare_sides.hpp"

#include "collectives/catalogue.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace attune::tools::bench {

namespace {

using collectives::Collective;

[[noreturn]] void refuse(std::string_view side, std::string_view why) {
    throw core::Error(core::ErrorCode::usage,
                      fmt::format("--compare: '{}' {}; a side is default, tuned, or a choice such as ring or two_level:segment_bytes=64K", side, why));
}

std::optional<Collective> collective_named(const std::string& word) {
    const auto all = collectives::all_collectives();
    const auto found = std::ranges::find(all, word, [](Collective collective) { return name_of(collective); });
    return found == all.end() ? std::nullopt : std::optional(*found);
}

// A word that is nearer to `default` or `tuned` than to any algorithm.
void refuse_misspelled_side(const std::string& word, Collective collective) {
    std::vector<std::string> words = {"default", "tuned"};
    const std::size_t sides = words.size();
    for (const collectives::Algorithm* algorithm : collectives::algorithms_for(collective)) {
        words.emplace_back(algorithm->name);
        std::ranges::move(collectives::aliases_of(collective, algorithm->name), std::back_inserter(words));
    }
    const std::string near = core::nearest(word, words);
    const auto place = static_cast<std::size_t>(std::ranges::find(words, near) - words.begin());
    if (place < sides) throw core::unknown_word("side of --compare", word, near);
}

}  // namespace

bool is_default_against_tuned(const std::vector<std::string>& sides) {
    return sides.size() == 2 && sides[0] == "default" && sides[1] == "tuned";
}

collectives::ForcedChoices parse_side(std::string_view text, Collective collective) {
    if (text.empty()) refuse(text, "chooses nothing");
    std::vector<std::string> pieces = core::split(text, ':');
    if (const auto named = collective_named(pieces.front())) {
        if (*named != collective) refuse(text, fmt::format("is no choice for {}", name_of(collective)));
        pieces.erase(pieces.begin());
    }
    core::Config config;
    const bool bare = pieces.size() == 1 && pieces.front().find('=') == std::string::npos;
    if (bare) refuse_misspelled_side(pieces.front(), collective);
    for (const std::string& piece : pieces) {
        const std::size_t equals = piece.find('=');
        const std::string name = equals == std::string::npos ? "algorithm" : piece.substr(0, equals);
        const std::string value = equals == std::string::npos ? piece : piece.substr(equals + 1);
        if (piece.empty()) refuse(text, "has an empty piece");
        if (config.get(name)) refuse(text, fmt::format("gives {} twice", name));
        config.set(name, std::string_view(name == "algorithm" ? collectives::parse_algorithm(collective, value) : value));
    }
    if (config.empty()) refuse(text, "chooses nothing");
    return {{{collective, config}}};
}

collectives::Choice choice_of_side(const std::string& side, const collectives::Problem& problem, const Machine& machine,
                                   const collectives::ChooserFacts& facts) {
    if (side == "default") return collectives::Chooser(facts, {}, {}).choose(problem);
    if (side == "tuned") return collectives::Chooser(facts, machine.loaded.table, {}).choose(problem);
    return collectives::Chooser(facts, {}, parse_side(side, problem.collective)).choose(problem);
}

}  // namespace attune::tools::bench
