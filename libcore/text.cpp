#include "libcore/text.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace attune::core {

namespace {

// Longer words are no typing mistakes; the bound keeps the quadratic comparison cheap for hostile input.
constexpr std::size_t longest_word = 128;

// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours cost one each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), current(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            current[j] = std::min({replaced, last[j] + 1, current[j - 1] + 1});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) current[j] = std::min(current[j], before_last[j - 2] + 1);
        }
        std::swap(before_last, last);
        std::swap(last, current);
    }
    return last[b.size()];
}

void append_escaped(std::string& out, char c) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n') {
        out += "\\n";
    } else if (c == '\t') {
        out += "\\t";
    } else if (c == '\\') {
        out += "\\\\";
    } else if (code < 0x20 || code == 0x7f) {
        out += fmt::format("\\x{:02x}", code);
    } else {
        out += c;
    }
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> pieces;
    if (text.empty()) return pieces;
    std::size_t begin = 0;
    for (std::size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator, begin)) {
        pieces.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    pieces.emplace_back(text.substr(begin));
    return pieces;
}

std::string join(std::span<const std::string> pieces, std::string_view separator) {
    std::string out;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (i > 0) out += separator;
        out += pieces[i];
    }
    return out;
}

std::string lower_case(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

std::string printable(std::string_view text, std::size_t limit) {
    std::string out;
    const std::string_view kept = text.substr(0, limit);
    out.reserve(kept.size());
    for (const char c : kept)
        append_escaped(out, c);
    if (kept.size() < text.size()) out += "...";
    return out;
}

std::string shell_word(std::string_view word) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
    std::string text = "'";
    for (const char c : word)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
    if (word.size() > longest_word) return {};
    std::size_t best = std::max<std::size_t>(2, word.size() / 3) + 1;
    const std::string lower = lower_case(word);
    std::string found;
    for (const std::string& candidate : candidates) {
        if (candidate.size() > longest_word) continue;
        const std::size_t distance = edit_distance(lower, lower_case(candidate));
        if (distance >= best) continue;
        best = distance;
        found = candidate;
    }
    return found;
}

std::string require_word(std::string_view what, std::string_view word, std::span<const std::string> candidates) {
    if (std::find(candidates.begin(), candidates.end(), word) != candidates.end()) return std::string(word);
    const std::string near = nearest(word, candidates);
    if (!near.empty()) throw unknown_word(what, word, near);
    throw Error(ErrorCode::usage, fmt::format("unknown {} '{}'; use one of: {}", what, printable(word), join(candidates, ", ")));
}

}  // namespace attune::core
