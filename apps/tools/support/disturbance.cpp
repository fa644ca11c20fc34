#include "apps/tools/support/disturbance.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>

namespace attune::tools {

std::optional<double> parse_load(std::string_view text) {
    double load = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), load);
    if (error != std::errc{} || load < 0) return std::nullopt;
    return load;
}

std::optional<double> current_load() {
    std::ifstream file("/proc/loadavg");
    std::string line;
    std::getline(file, line);
    return parse_load(line);
}

std::vector<std::string> disturbances(const Conditions& conditions) {
    std::vector<std::string> lines;
    if (conditions.ranks > conditions.allowed_cpus)
        lines.push_back(
            fmt::format("{} ranks share {} CPUs: times depend on the scheduler; rows hold for this oversubscription only; use -n {} for one rank a CPU",
                        conditions.ranks, conditions.allowed_cpus, conditions.allowed_cpus));
    // A quarter of a CPU is what an idle system with its own background work shows at most.
    if (conditions.load && *conditions.load > 0.25)
        lines.push_back(
            fmt::format("load average {:.1f} on {} CPUs: other programs run, or ended within the last minute; gains are still paired with the "
                        "default, but fewer can be proven: stop those programs or give a larger --budget",
                        *conditions.load, conditions.allowed_cpus));
    return lines;
}

}  // namespace attune::tools
