#include "collectives/call_text.hpp"

#include <algorithm>

namespace attune::collectives {

void fit_text(std::string_view text, std::span<char> field) noexcept {
    constexpr std::string_view mark = "...";
    const std::size_t room = field.size() - 1;
    if (text.size() <= room) {
        std::ranges::copy(text, field.begin());
        return;
    }
    std::string_view head(text.data(), room - mark.size());
    if (const std::size_t comma = head.rfind(','); comma != std::string_view::npos) head = std::string_view(text.data(), comma + 1);
    std::ranges::copy(mark, std::ranges::copy(head, field.begin()).out);
}

}  // namespace attune::collectives
