// When and how text is colored. NO_COLOR and TERM=dumb turn color off unless --color always asks for it.
#pragma once

#include <string>
#include <string_view>

namespace attune::tools {

enum class ColorMode { automatic, always, never };
ColorMode parse_color_mode(std::string_view text);  // auto always never; throws Error(usage) naming the nearest

// Whether text for this descriptor (1 or 2) is colored: in `automatic` mode on a terminal only.
bool use_color(ColorMode mode, int descriptor);

class Paint {
public:
    explicit Paint(bool enabled) : enabled_(enabled) {}

    std::string bold(std::string_view text) const { return painted("1", text); }
    std::string dim(std::string_view text) const { return painted("2", text); }
    std::string green(std::string_view text) const { return painted("32", text); }
    std::string yellow(std::string_view text) const { return painted("33", text); }
    std::string red(std::string_view text) const { return painted("31", text); }

private:
    std::string painted(std::string_view code, std::string_view text) const;
    bool enabled_;
};

}  // namespace attune::tools
