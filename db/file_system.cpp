#include "db/file_system.hpp"

#include "db/one_line.hpp"
#include "libcore/error.hpp"

#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace attune::db {

using core::Error;
using core::ErrorCode;
namespace fs = std::filesystem;

namespace {

struct NetworkMagic {
    std::uint64_t magic;
    std::string_view name;
};
// From linux/magic.h and the file systems' own sources.
constexpr std::array network_magics = {
    NetworkMagic{0x6969, "NFS"},        NetworkMagic{0x517b, "SMB"},      NetworkMagic{0xff534d42, "CIFS"},   NetworkMagic{0xfe534d42, "SMB2"},
    NetworkMagic{0x0bd00bd0, "Lustre"}, NetworkMagic{0x47504653, "GPFS"}, NetworkMagic{0x19830326, "BeeGFS"}, NetworkMagic{0x00c36400, "CephFS"},
    NetworkMagic{0x65735546, "FUSE"},   NetworkMagic{0x5346414f, "AFS"},  NetworkMagic{0x6b414653, "kAFS"},   NetworkMagic{0x73757245, "Coda"},
    NetworkMagic{0x7461636f, "OCFS2"},  NetworkMagic{0x01161970, "GFS2"}, NetworkMagic{0x01021997, "9p"},     NetworkMagic{0xaad7aaea, "PanFS"},
};

Error system_error(const std::string& path, const std::string& action, int number) {
    return {ErrorCode::failure, one_line(path) + ": cannot " + action + ": " + std::strerror(number)};
}

}  // namespace

std::optional<std::string_view> network_file_system(std::uint64_t magic) noexcept {
    for (const NetworkMagic& entry : network_magics) {
        if (entry.magic == (magic & 0xffffffffU)) return entry.name;  // f_type is signed on some machines
    }
    return std::nullopt;
}

void refuse_network_file_system(const std::string& path, std::uint64_t magic) {
    const auto name = network_file_system(magic);
    if (!name) return;
    throw Error(ErrorCode::failure, one_line(path) + ": lies on a network file system (" + std::string(*name) +
                                        "), where SQLite's locks are not safe: name a journal on a local disk with --journal");
}

std::uint64_t file_system_magic(const std::string& folder) {
    struct statfs facts {};
    if (::statfs(folder.c_str(), &facts) != 0) throw system_error(folder, "examine the file system", errno);
    return static_cast<std::uint64_t>(facts.f_type);
}

std::string absolute_path(const std::string& path) {
    const fs::path full = fs::absolute(path);
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(full.parent_path(), error);
    return error ? full.string() : (folder / full.filename()).string();
}

void keep_copy(const std::string& path, const std::string& copy) {
    const std::string fresh = copy + ".new";
    ::unlink(fresh.c_str());
    if (::link(path.c_str(), fresh.c_str()) != 0) {
        std::error_code error;
        fs::copy_file(path, fresh, fs::copy_options::overwrite_existing, error);
        if (error) throw system_error(copy, "keep the old file", error.value());
    }
    if (::rename(fresh.c_str(), copy.c_str()) != 0) throw system_error(copy, "keep the old file", errno);
    ::unlink(fresh.c_str());  // a rename between two names of one file does nothing and leaves both
}

}  // namespace attune::db
