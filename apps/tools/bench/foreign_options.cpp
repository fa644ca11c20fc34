#include "apps/tools/bench/foreign_options.hpp"

#include "libcore/error.hpp"

#include <string>
#include <vector>

namespace attune::tools::bench {

namespace {

struct Foreign {
    const char* names;
    const char* remedy;
};

// Checked against nccl-tests 2.19 (src/common.cu) and hccl_test (CANN 9); docs/bench.md has the whole table.
constexpr Foreign foreign[] = {
    {"--minbytes", "write -b, --min-bytes"},
    {"--maxbytes", "write -e, --max-bytes"},
    {"--stepbytes", "write -i, --step-bytes"},
    {"--stepfactor", "write -f, --step-factor"},
    {"--iters", "write --iterations (-n is the number of ranks here)"},
    {"--warmup_iters", "write -w, --warm-up"},
    {"--datatype", "write -d, --dtype"},
    {"--root", "write -r, --roots"},
    {"-t,--nthreads", "ranks are processes or, with --transport local, threads: write -n RANKS"},
    {"-g,--ngpus", "there are no devices here: write -n RANKS"},
    {"-p,--parallel_init,--npus", "ranks always start at once: write -n RANKS"},
    {"-m,--agg_iters", "calls below 5 us are timed in batches by themselves (batch in --json); calls back to back: --mode streaming"},
    {"-N,--run_cycles", "a row is timed once: write --iterations for more samples"},
    {"-z,--blocking", "calls have a common start, like -z 3; calls back to back, like -z 0: --mode streaming"},
    {"-a,--average", "times are the maximum over ranks; each rank's own: --per-rank"},
    {"-I,--per_iter_timing", "every iteration is timed; --json has minimum, interval, p95 and p99"},
    {"-T", "write --timeout TIME"},
    {"-J,--output_file", "write --json and redirect standard output"},
    {"-G,--cudagraph", "there are no device graphs here; leave it out"},
    {"-C,--report_cputime", "all times are those of the CPU; leave it out"},
    {"-R,--local_register", "there is no registration here; leave it out"},
    {"-S,--report_timestamps", "there is no time of day in a row; leave it out"},
};

}  // namespace

void add_foreign_options(CLI::App& app) {
    for (const Foreign& option : foreign) {
        const auto refuse = [option](const std::vector<std::string>&) {
            const std::string names = option.names;
            throw core::Error(core::ErrorCode::usage, names.substr(0, names.find(',')) + " is an option of other benchmarks; " + option.remedy);
        };
        app.add_option_function<std::vector<std::string>>(option.names, refuse, "")->expected(0, 1)->group("");
    }
}

}  // namespace attune::tools::bench
