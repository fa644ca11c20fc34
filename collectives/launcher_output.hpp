// Forwards the output of ranks line by line with "[rank] " in front.
#pragma once

#include "libcore/file.hpp"

#include <string>
#include <string_view>

namespace attune::collectives {

class TaggedOutput {
public:
    // Reads `source` (non-blocking) and writes whole lines to `target`, each with one write, so lines of different ranks do not mix.
    TaggedOutput(int rank, core::UniqueFd source, int target);

    int descriptor() const noexcept { return source_.get(); }  // -1 after the end
    void forward();                                            // what is there now
    void finish();                                             // what is there now, and the unfinished last line

private:
    void print(std::string_view text);

    std::string tag_;
    core::UniqueFd source_;
    int target_;
    std::string pending_;  // an unfinished line
};

// A pipe whose reading end does not block; both ends are close-on-exec. Throws Error(failure).
struct OutputPipe {
    core::UniqueFd read, write;
};
OutputPipe make_output_pipe();

}  // namespace attune::collectives
