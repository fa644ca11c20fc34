// Sets of logical CPUs: their text, the process's own set, binding. No hwloc here: ranks ask at every start, and this takes microseconds.
#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/text.hpp"
#include "libcore/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sched.h>
#include <unistd.h>

namespace attune::core {

namespace {

constexpr int cpu_limit = 1 << 16;  // Linux's own largest NR_CPUS is 8192

// The kernel's variable-sized cpu_set_t.
class KernelSet {
public:
    explicit KernelSet(int cpus) : bytes_(CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus))), set_(CPU_ALLOC(static_cast<std::size_t>(cpus))) {
        if (!set_) throw std::bad_alloc();
        CPU_ZERO_S(bytes_, set_.get());
    }
    std::size_t bytes() const { return bytes_; }
    cpu_set_t* get() const { return set_.get(); }
    bool contains(int cpu) const { return CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes_, set_.get()); }
    void add(int cpu) { CPU_SET_S(static_cast<std::size_t>(cpu), bytes_, set_.get()); }

private:
    struct Free {
        void operator()(cpu_set_t* set) const { CPU_FREE(set); }
    };
    std::size_t bytes_;
    std::unique_ptr<cpu_set_t, Free> set_;
};

// sched_getaffinity says EINVAL when the set is smaller than the kernel's own.
std::vector<int> read_affinity() {
    for (int size = 1024; size <= cpu_limit; size *= 2) {
        const KernelSet set(size);
        if (::sched_getaffinity(0, set.bytes(), set.get()) == 0) {
            std::vector<int> cpus;
            for (int cpu = 0; cpu < size; ++cpu) {
                if (set.contains(cpu)) cpus.push_back(cpu);
            }
            return cpus;
        }
        if (errno != EINVAL) break;
    }
    throw Error(ErrorCode::failure, fmt::format("cannot read the CPUs this process may use: {}", std::strerror(errno)));
}

// The number a list such as "4-7,68-71" starts with, its smallest CPU; -1 when the file is not there.
int first_cpu_in(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return -1;
    const UniqueFd file(descriptor);
    std::array<char, 32> text{};
    const ssize_t got = ::read(file.get(), text.data(), text.size());
    int cpu = -1;
    if (got > 0) std::from_chars(text.data(), text.data() + got, cpu);
    return cpu;
}

// hwloc numbers CPUs by a walk over package, shared caches and core, siblings ordered by their smallest CPU. The smallest CPU of each of
// these is the sorting key. What sysfs does not tell is -1 for all and leaves the order to the next level.
using LogicalPlace = std::array<int, 5>;
LogicalPlace logical_place(int cpu) {
    const std::string base = fmt::format("/sys/devices/system/cpu/cpu{}/", cpu);
    return {first_cpu_in(base + "topology/package_cpus_list"), first_cpu_in(base + "cache/index3/shared_cpu_list"),
            first_cpu_in(base + "cache/index2/shared_cpu_list"), first_cpu_in(base + "topology/core_cpus_list"), cpu};
}

Error bad_set(std::string_view text, std::string_view reason) {
    return Error(ErrorCode::usage, fmt::format("CPU set '{}' {}; write for example 0-3,8", printable(text), reason));
}

int parse_cpu(std::string_view whole, std::string_view text) {
    int cpu = -1;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), cpu);
    const bool valid = status == std::errc() && end == text.data() + text.size() && cpu >= 0 && text.front() != '-';
    if (!valid) throw bad_set(whole, "is not a list of CPU numbers");
    if (cpu >= cpu_limit) throw bad_set(whole, fmt::format("names CPU {}; the limit is {}", cpu, cpu_limit - 1));
    return cpu;
}

void set_affinity(pid_t thread, const CpuSet& set) {
    if (set.cpus.empty()) throw Error(ErrorCode::failure, "cannot bind to an empty CPU set; name at least one CPU");
    const auto [least, most] = std::minmax_element(set.cpus.begin(), set.cpus.end());
    if (*least < 0 || *most >= cpu_limit)
        throw Error(ErrorCode::failure, fmt::format("cannot bind to CPUs '{}': numbers go from 0 to {}", set.text(), cpu_limit - 1));
    KernelSet kernel_set(*most + 1);
    for (const int cpu : set.cpus)
        kernel_set.add(cpu);
    if (::sched_setaffinity(thread, kernel_set.bytes(), kernel_set.get()) == 0 || errno == ESRCH) return;
    const int number = errno;
    throw Error(ErrorCode::failure,
                fmt::format("cannot bind to CPUs '{}': {}; this process may use '{}'", set.text(), std::strerror(number), allowed_cpus().text()));
}

}  // namespace

std::string CpuSet::text() const {
    std::vector<int> sorted = cpus;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    std::string out;
    for (std::size_t first = 0; first < sorted.size();) {
        std::size_t last = first;
        while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1)
            ++last;
        if (!out.empty()) out += ',';
        out += first == last ? fmt::format("{}", sorted[first]) : fmt::format("{}-{}", sorted[first], sorted[last]);
        first = last + 1;
    }
    return out;
}

CpuSet CpuSet::parse(std::string_view text) {
    CpuSet set;
    for (const std::string& piece : split(text, ',')) {
        if (piece.empty()) throw bad_set(text, "has an empty piece");
        const std::size_t dash = piece.find('-', 1);
        const int first = parse_cpu(text, std::string_view(piece).substr(0, dash));
        if (dash != std::string::npos && dash + 1 == piece.size()) throw bad_set(text, "has a range without an end");
        const int last = dash == std::string::npos ? first : parse_cpu(text, std::string_view(piece).substr(dash + 1));
        if (last < first) throw bad_set(text, fmt::format("has the descending range {}-{}", first, last));
        if (!set.cpus.empty() && first <= set.cpus.back()) throw bad_set(text, fmt::format("is not ascending at {}", first));
        for (int cpu = first; cpu <= last; ++cpu)
            set.cpus.push_back(cpu);
    }
    return set;
}

CpuSet allowed_cpus() {
    const std::vector<int> cpus = read_affinity();
    if (cpus.size() < 2) return CpuSet{cpus};
    std::vector<LogicalPlace> places;
    places.reserve(cpus.size());
    for (const int cpu : cpus)
        places.push_back(logical_place(cpu));
    std::sort(places.begin(), places.end());
    CpuSet set;
    for (const LogicalPlace& place : places)
        set.cpus.push_back(place.back());
    return set;
}

// The kernel binds threads, so every thread of the process is bound; threads started later inherit the set from the one that starts them.
void bind_this_process(const CpuSet& set) {
    const std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir("/proc/self/task"), ::closedir);
    if (!tasks) return set_affinity(0, set);
    while (const dirent* entry = ::readdir(tasks.get())) {
        pid_t thread = 0;
        std::from_chars(entry->d_name, entry->d_name + std::strlen(entry->d_name), thread);
        if (thread > 0) set_affinity(thread, set);
    }
}

void bind_this_thread(int cpu) {
    set_affinity(0, CpuSet{{cpu}});
}

}  // namespace attune::core
