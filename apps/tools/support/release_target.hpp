// Where attune-tune and attune-db publish write, checked before anything is measured.
#pragma once

#include "libcore/environment.hpp"

#include <string>

namespace attune::tools {

// The file a release goes to and the journal it comes from.
struct ReleaseTarget {
    std::string release, journal;
};

// The user's own database; those of the site and the system are written only when named. Throws Error(failure) when the user has no absolute home.
std::string own_database(const core::Environment& environment);
// Throws Error(usage) when `release` is something else than a release, sound or damaged, or an empty or missing file: a folder, a link, a device, a
// text file, a journal, the journal of this very run; Error(failure) when it cannot be written there: a newer release, a folder without permission.
void require_publishable(const ReleaseTarget& target);
// Throws Error(usage) when either is, by whatever name, a file that jobs use without being told: rows of a test default must not get there.
void require_not_default(const ReleaseTarget& target, const core::Environment& environment);

}  // namespace attune::tools
