// attune: collectives between the ranks of a job, run the way the tuning database proved fastest on this machine.
//
//   attune::Communicator team;                       // a rank of `attune-run -n 4 -- program`, else alone
//   team.all_reduce(gradient.data(), gradient.size());  // in place, sum
//
// Link with attune::attune. Everything here is in the library libattune.so; nothing of third parties is included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#define ATTUNE_EXPORT __attribute__((visibility("default")))

namespace attune {

// The last seven need amounts per peer, which Call does not carry.
enum class Collective : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    broadcast,
    reduce,
    gather,
    scatter,
    all_to_all,
    barrier,
    scan,
    exscan,
    all_gather_v,
    reduce_scatter_v,
    gather_v,
    scatter_v,
    all_to_all_v,
    send_recv,
    batch_send_recv,
};
enum class DType : std::uint8_t { float32, float64, int32, int64 };
enum class Op : std::uint8_t { sum, prod, min, max };

// Every failure. exit_code() is what a program should end with: 1 failure, 2 wrong use, 3 no applicable row or 4 a damaged database with
// ATTUNE_DB_MODE=require.
class ATTUNE_EXPORT Error : public std::runtime_error {
public:
    Error(int exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
    int exit_code() const noexcept { return exit_code_; }

private:
    int exit_code_;
};

// The DType of a C++ type: float, double, std::int32_t or std::int64_t.
template <class T>
constexpr DType dtype_of() {
    constexpr bool known = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>;
    static_assert(known, "attune moves float, double, std::int32_t and std::int64_t");
    if constexpr (std::is_same_v<T, float>) return DType::float32;
    if constexpr (std::is_same_v<T, double>) return DType::float64;
    if constexpr (std::is_same_v<T, std::int32_t>) return DType::int32;
    return DType::int64;
}

// One call, without its buffers. `count` = elements of the smaller buffer, one rank's block:
//   all_reduce      input count          output count
//   all_gather      input count          output size() x count
//   reduce_scatter  input size() x count output count
//   broadcast       input count (root's) output count
// In place there is one buffer, the larger: all_gather's input is its block rank(), reduce_scatter's output is its block rank().
struct Call {
    Collective collective = Collective::barrier;
    std::uint64_t count = 0;
    DType dtype = DType::float32;
    Op op = Op::sum;
    int root = 0;
    bool in_place = false;
};

// What a call uses and why.
struct Explanation {
    std::string config;     // "algorithm=ring,segment_bytes=64K,..."
    std::string algorithm;  // "ring"
    std::string source;     // "default", "tuned", "forced"
    std::string match;      // "exact", "interval", "none"
    std::string reason;     // "row 12 covers 8 B .. 512 B"
    double gain = 1;        // time of the default divided by the time of this config, as published
    long row = -1;          // of the table; -1 = none
};

// What beats the environment. Empty = as the environment says.
struct Options {
    std::string database;  // a release to use instead of the default paths (ATTUNE_DB)
    std::string mode;      // "use", "off", "require" (ATTUNE_DB_MODE)
    std::string force;     // "all_reduce=ring,segment_bytes=64K;broadcast=binomial" (ATTUNE_FORCE)
    std::string log;       // "error", "warn", "info", "debug" (ATTUNE_LOG)
};

namespace detail {
struct Job;
}

// A started call. Its buffers must live and stay untouched until it is done. The destructor waits for it.
class ATTUNE_EXPORT Request {
public:
    Request() noexcept = default;  // done
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;
    ~Request();

    bool done();  // moves all calls of the communicator on
    void wait();

private:
    friend class Communicator;
    Request(std::shared_ptr<detail::Job> job, std::uint64_t ticket) noexcept;
    void finish() noexcept;

    std::shared_ptr<detail::Job> job_;
    std::uint64_t ticket_ = 0;
};

// The ranks of a job. Calls are collective and in the same order on all ranks; up to four may be in flight. Not thread-safe. Throws attune::Error.
class ATTUNE_EXPORT Communicator {
public:
    // Collective. As a rank of attune-run it meets the others; started without a launcher it is alone.
    explicit Communicator(const Options& options = {});
    ~Communicator();
    Communicator(Communicator&&) noexcept;
    Communicator& operator=(Communicator&&) noexcept;

    int rank() const;
    int size() const;

    // The call that all others are made of. In place: input == output.
    Request start(const Call& call, const void* input, void* output);
    void run(const Call& call, const void* input, void* output);
    Explanation explain(const Call& call) const;
    // "1200 calls: 25 % exact, 50 % interval, 25 % default; ..."; rank 0 prints it at the end with ATTUNE_LOG=info.
    std::string summary() const;
    std::string table_origin() const;  // database files in use, empty = none

    template <class T>
    void all_reduce(const T* input, T* output, std::uint64_t count, Op op = Op::sum) {
        run({Collective::all_reduce, count, dtype_of<T>(), op}, input, output);
    }
    template <class T>
    void all_reduce(T* buffer, std::uint64_t count, Op op = Op::sum) {
        run({Collective::all_reduce, count, dtype_of<T>(), op, 0, true}, buffer, buffer);
    }
    template <class T>
    void all_gather(const T* input, T* output, std::uint64_t count) {
        run({Collective::all_gather, count, dtype_of<T>()}, input, output);
    }
    template <class T>
    void all_gather(T* buffer, std::uint64_t count) {
        run({Collective::all_gather, count, dtype_of<T>(), Op::sum, 0, true}, buffer, buffer);
    }
    template <class T>
    void reduce_scatter(const T* input, T* output, std::uint64_t count, Op op = Op::sum) {
        run({Collective::reduce_scatter, count, dtype_of<T>(), op}, input, output);
    }
    template <class T>
    void reduce_scatter(T* buffer, std::uint64_t count, Op op = Op::sum) {
        run({Collective::reduce_scatter, count, dtype_of<T>(), op, 0, true}, buffer, buffer);
    }
    template <class T>
    void broadcast(const T* input, T* output, std::uint64_t count, int root) {
        run({Collective::broadcast, count, dtype_of<T>(), Op::sum, root}, input, output);
    }
    template <class T>
    void broadcast(T* buffer, std::uint64_t count, int root) {
        run({Collective::broadcast, count, dtype_of<T>(), Op::sum, root, true}, buffer, buffer);
    }
    void barrier() { run({}, nullptr, nullptr); }

    template <class T>
    [[nodiscard]] Request start_all_reduce(const T* input, T* output, std::uint64_t count, Op op = Op::sum) {
        return start({Collective::all_reduce, count, dtype_of<T>(), op}, input, output);
    }
    template <class T>
    [[nodiscard]] Request start_all_reduce(T* buffer, std::uint64_t count, Op op = Op::sum) {
        return start({Collective::all_reduce, count, dtype_of<T>(), op, 0, true}, buffer, buffer);
    }
    template <class T>
    [[nodiscard]] Request start_all_gather(const T* input, T* output, std::uint64_t count) {
        return start({Collective::all_gather, count, dtype_of<T>()}, input, output);
    }
    template <class T>
    [[nodiscard]] Request start_all_gather(T* buffer, std::uint64_t count) {
        return start({Collective::all_gather, count, dtype_of<T>(), Op::sum, 0, true}, buffer, buffer);
    }
    template <class T>
    [[nodiscard]] Request start_reduce_scatter(const T* input, T* output, std::uint64_t count, Op op = Op::sum) {
        return start({Collective::reduce_scatter, count, dtype_of<T>(), op}, input, output);
    }
    template <class T>
    [[nodiscard]] Request start_reduce_scatter(T* buffer, std::uint64_t count, Op op = Op::sum) {
        return start({Collective::reduce_scatter, count, dtype_of<T>(), op, 0, true}, buffer, buffer);
    }
    template <class T>
    [[nodiscard]] Request start_broadcast(const T* input, T* output, std::uint64_t count, int root) {
        return start({Collective::broadcast, count, dtype_of<T>(), Op::sum, root}, input, output);
    }
    template <class T>
    [[nodiscard]] Request start_broadcast(T* buffer, std::uint64_t count, int root) {
        return start({Collective::broadcast, count, dtype_of<T>(), Op::sum, root, true}, buffer, buffer);
    }
    [[nodiscard]] Request start_barrier() { return start({}, nullptr, nullptr); }

private:
    std::shared_ptr<detail::Job> job_;
};

}  // namespace attune
