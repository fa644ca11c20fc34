// Options that users of nccl-tests, hccl_test, OSU and IMB have in their fingers. Where ours is another one, it is named.
#pragma once

#include <CLI/CLI.hpp>

#include <span>

namespace attune::tools::bench {

// Hidden options; each throws core::Error(usage) that names what to write instead.
void add_foreign_options(CLI::App& app);
// The same for words of several letters behind one dash.
void refuse_foreign_words(std::span<const char* const> words);

}  // namespace attune::tools::bench
