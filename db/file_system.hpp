// Which file systems a database may live on, and keeping a second name of a file that is about to be replaced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attune::db {

// The name of a network file system by its statfs magic; absent for local ones.
std::optional<std::string_view> network_file_system(std::uint64_t magic) noexcept;
// Throws Error(failure) when `magic` is a network file system's: path and remedy.
void refuse_network_file_system(const std::string& path, std::uint64_t magic);
std::uint64_t file_system_magic(const std::string& folder);  // throws Error(failure)

// Links in the folder part resolved, so that one file has one name here; the last component is left alone.
std::string absolute_path(const std::string& path);
// A second name for the bytes at `path`, replacing `copy`; at no moment is either name missing. Copies where links are impossible.
// Throws Error(failure).
void keep_copy(const std::string& path, const std::string& copy);

}  // namespace attune::db
