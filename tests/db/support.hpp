// Fixtures of the database tests: folders that vanish, machines, rows, and a sealer for forged files.
#pragma once

#include "db/release.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace attune::db::test {

// A fresh folder, removed with everything in it.
class Folder {
public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string file(const std::string& name) const { return path_ + "/" + name; }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

Identity machine(const std::string& model = "97");
core::Key key(const std::string& collective = "all_reduce", int ranks = 4);
ReleaseRow row(const Identity& identity, std::uint64_t low, std::uint64_t high, const std::string& collective = "all_reduce");
// Two rows of machine(), cuts and context.
ReleaseContent content();
Trial trial(std::uint64_t bytes = 1024);

std::vector<std::byte> bytes_of(const std::string& path);
void write_bytes(const std::string& path, const std::vector<std::byte>& bytes);
// Cuts the footer off, runs SQL on what is left (any schema change allowed), and seals it again with a valid footer.
void forge(const std::string& path, const std::string& sql);
// The message of the core::Error that `action` throws, with its code in front: "4 /tmp/x: truncated"; "" when nothing is thrown.
std::string error_of(const std::function<void()>& action);
// Runs `action` in a child as an unprivileged user; its exit status, or -1 for a signal. Works as root and as anyone else.
int as_unprivileged(const std::function<int()>& action);

}  // namespace attune::db::test
