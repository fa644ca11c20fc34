#include "tests/db/support.hpp"

#include "db/footer.hpp"
#include "libcore/error.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace attune::db::test {

namespace fs = std::filesystem;

Folder::Folder() {
    std::string pattern = (fs::temp_directory_path() / "attune-db-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = fs::canonical(pattern).string();
    ::chmod(path_.c_str(), 0755);
}

Folder::~Folder() {
    std::error_code ignored;
    fs::permissions(path_, fs::perms::owner_all, fs::perm_options::add, ignored);
    fs::remove_all(path_, ignored);
}

Identity machine(const std::string& model) {
    core::Topology topology;
    topology.cpu_vendor = "AuthenticAMD";
    topology.cpu_family = 25;
    topology.cpu_model = std::stoi(model);
    topology.instruction_set = "avx2";
    topology.l1d_bytes = 32768;
    topology.l2_bytes = 1048576;
    topology.l3_bytes = 33554432;
    topology.allowed.cpus = {0, 1};
    return identity_of(topology);
}

core::Key key(const std::string& collective, int ranks) {
    core::Key key;
    key.collective = collective;
    key.dtype_class = "float32";
    key.op = "sum";
    key.ranks = ranks;
    key.node_map = "1x" + std::to_string(ranks);
    key.transport = "shm";
    return key;
}

ReleaseRow row(const Identity& identity, std::uint64_t low, std::uint64_t high, const std::string& collective) {
    ReleaseRow out;
    out.identity = identity;
    core::TableRow& choice = out.row;
    choice.key = key(collective);
    choice.low_bytes = low;
    choice.high_bytes = high;
    choice.config = core::Config::parse("algorithm=two_shot,segment_bytes=64K");
    choice.default_config = core::Config::parse("algorithm=ring,segment_bytes=0");
    choice.default_version = 1;
    choice.algorithm_version = 1;
    choice.instruction_set = "avx2";
    choice.default_ns = 4200.5;
    choice.best_ns = 3000;
    choice.gain = 1.4;
    choice.gain_low = 1.35;
    choice.gain_high = 1.45;
    Evidence& evidence = out.evidence;
    evidence.launches = 3;
    evidence.blocks = 20;
    evidence.floor = 0.02;
    evidence.p_value = 1e-6;
    evidence.candidates = 12;
    evidence.complete = true;
    evidence.verification = "exact";
    evidence.run = "run-1";
    evidence.utc = "2026-11-30T12:00:00Z";
    evidence.cut_set = "cuts-1";
    evidence.classes = {{"c0", 12, 1.41, 1.36, 1.46}, {"c1", 8, 1.38, 1.2, 1.5}};
    return out;
}

ReleaseContent content() {
    ReleaseContent out;
    out.identities = {machine()};
    out.rows = {row(machine(), 1024, 4096), row(machine(), 8, 512)};
    out.cuts = {{"cuts-1", {180.0, 400.0}}};
    out.context = {{"host", "node1"}, {"kernel", "6.1"}};
    out.utc = "2026-11-30T12:00:00Z";
    out.tool_version = "0.1.0";
    return out;
}

Trial trial(std::uint64_t bytes) {
    Trial out;
    out.run = "run-1";
    out.phase = "search";
    out.key = key();
    out.bytes = bytes;
    out.config = core::Config::parse("algorithm=two_shot");
    out.default_config = core::Config::parse("algorithm=ring");
    out.default_version = 1;
    out.algorithm_version = 1;
    out.launch = "launch-1";
    out.placement = "c0";
    out.round_trip_ns = 151.25;
    out.batch = 8;
    out.default_ns = {1000.5, 1001.25, 998};
    out.config_ns = {700, 701.5};
    out.ratio = 1.427;
    out.utc = "2026-11-30T12:00:00Z";
    return out;
}

std::vector<std::byte> bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
}

void write_bytes(const std::string& path, const std::vector<std::byte>& bytes) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void forge(const std::string& path, const std::string& sql) {
    std::vector<std::byte> bytes = bytes_of(path);
    bytes.erase(bytes.end() - static_cast<std::ptrdiff_t>(footer_bytes), bytes.end());
    write_bytes(path, bytes);
    sqlite3* database = nullptr;
    char* message = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    sqlite3_exec(database, "PRAGMA synchronous=OFF; PRAGMA writable_schema=ON; PRAGMA ignore_check_constraints=ON", nullptr, nullptr, nullptr);
    const int code = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message);
    EXPECT_EQ(code, SQLITE_OK) << sql << ": " << (message != nullptr ? message : "");
    sqlite3_free(message);
    sqlite3_close(database);
    bytes = bytes_of(path);
    const auto footer = make_footer(bytes);
    bytes.insert(bytes.end(), footer.begin(), footer.end());
    write_bytes(path, bytes);
}

std::string error_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const core::Error& error) {
        return std::to_string(error.exit_code()) + " " + error.what();
    }
    return {};
}

int as_unprivileged(const std::function<int()>& action) {
    constexpr uid_t nobody = 65534;
    const pid_t child = ::fork();
    if (child == 0) {
        if (::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) ::_exit(99);
        int status = 98;
        try {
            status = action();
        } catch (const std::exception&) {
        }
        ::_exit(status);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace attune::db::test
