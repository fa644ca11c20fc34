// Forwards the output of ranks line by line with "[rank] " in front.
#pragma once

#include "libcore/file.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace attune::collectives {

class TaggedOutput {
public:
    // Reads `source` (non-blocking) and writes whole lines to `target`, so lines of different ranks do not mix. A line is kept until its end; one above
    // line_limit goes out in pieces that look like lines.
    TaggedOutput(int rank, core::UniqueFd source, int target);

    int descriptor() const noexcept { return source_.get(); }  // -1 after the end
    void forward();                                            // what is there now
    void finish();                                             // what is there now, and the unfinished last line

    // errno of the first write that failed, 0 = none. What comes after it is read and dropped: the ranks' work goes on.
    int write_error() const noexcept { return write_error_; }

    static constexpr std::size_t line_limit = std::size_t{64} << 20;

private:
    void print(std::string_view text);
    void write_all(std::string_view text);

    std::string tag_;
    core::UniqueFd source_;
    int target_;
    int write_error_ = 0;
    std::string pending_;  // an unfinished line
};

// A pipe whose reading end does not block; both ends are close-on-exec. Throws Error(failure).
struct OutputPipe {
    core::UniqueFd read, write;
};
OutputPipe make_output_pipe();

}  // namespace attune::collectives
