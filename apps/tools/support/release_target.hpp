// Where attune-tune and attune-db publish write, checked before anything is measured.
#pragma once

#include "libcore/environment.hpp"

#include <optional>
#include <string>

namespace attune::tools {

// The file a release goes to and the journal it comes from.
struct ReleaseTarget {
    std::string release, journal;
};

// --db and --journal.
struct TargetWish {
    std::optional<std::string> release, journal;
};

// --db, else the first file of ATTUNE_DB, else the user's own; those of the site and the system are written only when named. Nothing when the user has no
// absolute home. Throws Error(usage) when ATTUNE_DB names no file.
std::optional<ReleaseTarget> find_release_target(const core::Environment& environment, const TargetWish& wish);
// The same for who must write: Error(failure) when there is none.
ReleaseTarget release_target(const core::Environment& environment, const TargetWish& wish);
// Throws like db::require_replaceable(), Error(usage) when both are one file, and Error(failure) when nothing can be written in the folder.
void require_publishable(const ReleaseTarget& target);
// Throws Error(usage) when either is, by whatever name, a file that jobs use without being told: rows of a test default must not get there.
void require_not_default(const ReleaseTarget& target, const core::Environment& environment);

}  // namespace attune::tools
