// A fresh directory that is gone, with all it holds, when the test ends.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace attune::tests {

class TemporaryDirectory {
public:
    TemporaryDirectory() : path_(::testing::TempDir() + "attune_test_XXXXXX") {
        if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make a directory like " + path_);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

}  // namespace attune::tests
