#include "apps/tools/bench/foreign_options.hpp"

#include "libcore/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace attune::tools::bench {

namespace {

struct Foreign {
    const char* names;
    const char* remedy;
};

// Checked against nccl-tests 2.19 (src/common.cu), hccl_test (CANN 9), OSU 7 and IMB-MPI1 2021; docs/bench.md has the whole table.
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
    {"-x", "write -w, --warm-up"},
    {"-k", "write -r, --roots"},
    {"-l", "write --in-place yes"},
    {"-u", "buffers are aligned; for buffers that no cache holds write --cache rotate"},
    {"-W", "messages follow each other without a window: --pattern stream"},
    {"-F", "write --csv and redirect standard output"},
};

// One dash and several letters; the parser would take them for letters with values.
constexpr Foreign whole_words[] = {
    {"-npmin", "ranks are started by the tool: write -n RANKS"},
    {"-msglog", "write -b, --min-bytes and -e, --max-bytes"},
    {"-msglen", "write --count LIST"},
    {"-iter", "write --iterations"},
    {"-iter_policy", "write --iterations"},
    {"-time", "write --iterations"},
    {"-warm_up", "write -w, --warm-up"},
    {"-data_type", "write -d, --dtype"},
    {"-red_data_type", "write -d, --dtype"},
    {"-root_shift", "write -r, --roots"},
    {"-sync", "calls have a common start, like -sync 1; back to back, like -sync 0: --mode streaming"},
    {"-off_cache", "write --cache rotate"},
    {"-multi", "write send_recv --pattern pairs"},
};

[[noreturn]] void refuse(const std::string& name, const char* remedy) {
    throw core::Error(core::ErrorCode::usage, name + " is an option of other benchmarks; " + remedy);
}

}  // namespace

void add_foreign_options(CLI::App& app) {
    for (const Foreign& option : foreign) {
        const auto refuse_it = [option](const std::vector<std::string>&) {
            const std::string names = option.names;
            refuse(names.substr(0, names.find(',')), option.remedy);
        };
        app.add_option_function<std::vector<std::string>>(option.names, refuse_it, "")->expected(0, 1)->group("");
    }
}

void refuse_foreign_words(std::span<const char* const> words) {
    for (const std::string_view word : words)
        for (const Foreign& option : whole_words)
            if (word == option.names) refuse(option.names, option.remedy);
}

}  // namespace attune::tools::bench
