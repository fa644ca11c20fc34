// What disturbs a measurement right now, each as one line with its remedy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::tools {

// The one-minute load of "0.42 0.30 0.28 1/123 4567"; nothing when the text is none.
std::optional<double> parse_load(std::string_view text);
std::optional<double> current_load();  // /proc/loadavg

struct Conditions {
    int ranks = 1;
    int allowed_cpus = 1;
    std::optional<double> load;  // of the last minute, before the measurement
};
std::vector<std::string> disturbances(const Conditions& conditions);

}  // namespace attune::tools
