#include "collectives/host.hpp"

#include "libcore/crypto.hpp"

#include <array>
#include <fstream>
#include <span>
#include <string_view>

#include <unistd.h>

namespace attune::collectives {

namespace {

std::string boot_id() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;
}

// "net:[4026531840]"; empty where the kernel has no such namespaces.
std::string name_space(std::string_view kind) {
    std::array<char, 128> target{};
    const std::string path = "/proc/self/ns/" + std::string(kind);
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    return length < 0 ? std::string{} : std::string(target.data(), static_cast<std::size_t>(length));
}

std::uint64_t digest_of(const std::string& text) {
    return core::digest64(std::as_bytes(std::span(text)));
}

}  // namespace

Host this_host() {
    const std::string machine = boot_id();
    const std::string processes = machine + name_space("pid") + name_space("user"), network = machine + name_space("net");
    return {digest_of(machine), digest_of(processes), digest_of(network), digest_of(processes + network + name_space("ipc")),
            digest_of(machine + name_space("time"))};
}

}  // namespace attune::collectives
