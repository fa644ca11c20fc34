// Rates of links in words.
#pragma once

#include <string>

namespace attune::two_hosts {

// "1Gbit", "100Mbit", "64Kbit", "2.5Gbit": bits per second, in powers of 1000 as networks count. Throws Error(usage).
double parse_rate(const std::string& text);

}  // namespace attune::two_hosts
