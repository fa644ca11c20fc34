// Facts recorded beside a measurement and never compared. Whatever cannot be read is left out.
#include "libcore/cpuid.hpp"
#include "libcore/file.hpp"
#include "libcore/topology.hpp"

#include <array>
#include <fcntl.h>
#include <string>
#include <sys/utsname.h>
#include <unistd.h>

namespace attune::core {

namespace {

using Context = std::vector<std::pair<std::string, std::string>>;

// Up to 64 KiB of a file of /proc or /sys (their sizes are given as 0); empty when it cannot be read.
std::string read_kernel_file(const char* path) {
    constexpr std::size_t limit = 1U << 16;
    const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::string text;
    std::array<char, 4096> part{};
    while (file && text.size() < limit) {
        const ssize_t got = ::read(file.get(), part.data(), part.size());
        if (got <= 0) break;
        text.append(part.data(), static_cast<std::size_t>(got));
    }
    return text;
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

// "0x2b000603" from the first "microcode : ..." line.
std::string microcode_version() {
    const std::string direct = first_line(read_kernel_file("/sys/devices/system/cpu/cpu0/microcode/version"));
    if (!direct.empty()) return direct;
    const std::string cpuinfo = read_kernel_file("/proc/cpuinfo");
    const std::size_t line = cpuinfo.find("\nmicrocode");
    if (line == std::string::npos) return {};
    const std::size_t colon = cpuinfo.find(": ", line);
    if (colon == std::string::npos) return {};
    return first_line(cpuinfo.substr(colon + 2));
}

// Marker files first, then the names that runtimes leave in the control groups of process 1.
std::string container_kind() {
    if (file_exists("/run/.containerenv")) return "podman";
    if (file_exists("/.dockerenv")) return "docker";
    if (file_exists("/singularity.d") || file_exists("/.singularity.d")) return "singularity";
    const std::string groups = read_kernel_file("/proc/1/cgroup");
    for (const char* name : {"kubepods", "docker", "libpod", "lxc", "containerd"}) {
        if (groups.find(name) != std::string::npos) return name;
    }
    return {};
}

std::string compiler_name() {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

void add(Context& context, const char* name, std::string value) {
    if (!value.empty()) context.emplace_back(name, std::move(value));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> discover_context() {
    Context context;
    utsname names{};
    if (::uname(&names) == 0) {
        add(context, "host", names.nodename);
        add(context, "kernel", names.release);
    }
    add(context, "boot_id", first_line(read_kernel_file("/proc/sys/kernel/random/boot_id")));
    add(context, "microcode", microcode_version());
    add(context, "governor", first_line(read_kernel_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")));
    add(context, "compiler", compiler_name());
    add(context, "container", container_kind());
    add(context, "hypervisor", read_cpu_identity().hypervisor ? "yes" : "");
    return context;
}

}  // namespace attune::core
