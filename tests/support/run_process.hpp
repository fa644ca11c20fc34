// Runs a program as a user would and returns what it printed and how it ended.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace attune::test {

struct ProcessResult {
    int code = -1;  // exit status, 128 + signal when killed
    bool timed_out = false;
    std::string out;
    std::string err;
};

struct ProcessOptions {
    std::vector<std::pair<std::string, std::string>> environment;  // added to the own one
    std::string folder;                                            // working directory; empty = the current one
    std::chrono::seconds timeout{120};                             // then the whole process group is killed
};

// words[0] is the program: a path, or a name searched on PATH. 127 when it cannot be started. Standard input is empty.
ProcessResult run_process(const std::vector<std::string>& words, const ProcessOptions& options = {});

// A fresh folder under the system's temporary folder that disappears with the object.
class TemporaryFolder {
public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

}  // namespace attune::test
