// The SQLite image inside a release: content to image file, image bytes to content.
#pragma once

#include "db/release.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace attune::db {

// Sorts everything into the one order in which it is stored and gives every row its id. Throws Error(failure) for content that could
// not be read back.
void normalize(ReleaseContent& content);
// One transaction in memory, then VACUUM INTO `path`, which must not exist, then SQLite's own checks of the result. Throws Error.
void write_image(const ReleaseContent& content, const std::string& path);
// Every check but the footer's. Throws ReleaseError (newer, damaged).
ReleaseContent parse_image(std::span<std::byte> image, const std::string& path);

}  // namespace attune::db
