#include "apps/tools/support/color.hpp"

#include "libcore/environment.hpp"
#include "libcore/text.hpp"

#include <vector>

#include <unistd.h>

namespace attune::tools {

ColorMode parse_color_mode(std::string_view text) {
    static const std::vector<std::string> words{"auto", "always", "never"};
    const std::string word = core::require_word("color mode", text, words);
    if (word == "auto") {
        return ColorMode::automatic;
    }
    return word == "always" ? ColorMode::always : ColorMode::never;
}

bool use_color(ColorMode mode, int descriptor) {
    if (mode != ColorMode::automatic) {
        return mode == ColorMode::always;
    }
    return isatty(descriptor) == 1 && !core::read_environment().no_color;
}

std::string Paint::painted(std::string_view code, std::string_view text) const {
    if (!enabled_ || text.empty()) {
        return std::string(text);
    }
    return "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m";
}

}  // namespace attune::tools
