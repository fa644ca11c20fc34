// What a tuned row is valid for, apart from the machine (identity) and the size (interval of bytes).
#pragma once

#include <string>
#include <string_view>

namespace attune::core {

// Value type with one canonical text, "collective/all_reduce/float32/sum/4/1x4/any/shm/out/ordinary/run/latency/bound",
// fields in the order below. Fields never contain '/'.
struct Key {
    std::string target = "collective";
    std::string collective;   // or a kernel's name
    std::string dtype_class;  // "bytes" for data movement, else the dtype's name
    std::string op;           // "none" for data movement
    int ranks = 0;
    std::string node_map;             // canonical text: "1x4", "2,2,1:cyclic"
    std::string root_class = "none";  // "none", "any" (proven at 0 and p-1) or the root
    std::string transport;            // "local", "shm"
    bool in_place = false;            // text "in" or "out"
    std::string buffers = "ordinary";
    std::string determinism = "run";
    std::string objective = "latency";
    std::string binding = "bound";  // "bound" or "unbound"

    std::string text() const;
    // Whether what holds for this key holds for `other`: they are equal, or differ only in that this root class is "any".
    bool covers(const Key& other) const;
    static Key parse(std::string_view text);  // throws Error(failure) for anything text() cannot produce
    friend bool operator==(const Key&, const Key&) = default;
};

}  // namespace attune::core
