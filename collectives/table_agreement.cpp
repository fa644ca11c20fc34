#include "collectives/table_agreement.hpp"

#include "libcore/crypto.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;

class Writer {
public:
    void number(std::uint64_t value) { append(&value, sizeof value); }
    void bytes(std::span<const std::byte> data) {
        number(data.size());
        append(data.data(), data.size());
    }
    void text(std::string_view value) { bytes(std::as_bytes(std::span(value))); }
    std::vector<std::byte> take() { return std::move(out_); }

private:
    void append(const void* data, std::size_t size) {
        const auto* begin = static_cast<const std::byte*>(data);
        out_.insert(out_.end(), begin, begin + size);
    }
    std::vector<std::byte> out_;
};

class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
    std::uint64_t number() {
        std::uint64_t value = 0;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }
    std::span<const std::byte> bytes() { return take(number()); }
    std::string text() {
        const std::span<const std::byte> data = bytes();
        return {reinterpret_cast<const char*>(data.data()), data.size()};
    }
    bool at_end() const noexcept { return rest_.empty(); }

private:
    std::span<const std::byte> take(std::uint64_t size) {
        if (size > rest_.size()) throw Error(ErrorCode::check_failed, "the tuned table arrived truncated from rank 0");
        const std::span<const std::byte> taken = rest_.first(size);
        rest_ = rest_.subspan(size);
        return taken;
    }
    std::span<const std::byte> rest_;
};

// Nothing of it throws: a rank that cannot read the table must still take part in the comparison.
struct Received {
    TableResult result;
    std::uint64_t digest = 0;
    std::string problem;
};

Received receive(const std::vector<std::byte>& bytes) {
    Received received;
    try {
        received.result = parse_table_result(bytes);
        received.digest = core::digest64(bytes);
    } catch (const Error& error) {
        received.problem = error.what();
    }
    return received;
}

void compare(const std::vector<std::uint64_t>& digests, const Received& own) {
    for (std::size_t rank = 0; rank < digests.size(); ++rank) {
        if (digests[rank] != 0 && digests[rank] == digests.front()) continue;
        const std::string why = own.problem.empty() ? "do all ranks run the same version?" : own.problem;
        throw Error(ErrorCode::check_failed,
                    fmt::format("ranks 0 and {} disagree about the tuned table (digests {:016x} and {:016x}): {}", rank, digests.front(), digests[rank], why));
    }
}

}  // namespace

TableResult run_table_source(const TableSource& source) {
    if (!source) return {};
    try {
        return source();
    } catch (const std::exception& error) {
        TableResult result;
        result.warnings.push_back(fmt::format("{}; running on defaults", error.what()));
        return result;
    }
}

std::vector<std::byte> serialize(const TableResult& result) {
    Writer writer;
    writer.bytes(result.table.bytes());
    writer.text(result.origin);
    writer.number(static_cast<std::uint64_t>(result.fatal_code));
    writer.text(result.fatal_message);
    writer.number(result.warnings.size());
    for (const std::string& warning : result.warnings)
        writer.text(warning);
    return writer.take();
}

TableResult parse_table_result(std::span<const std::byte> bytes) {
    Reader reader(bytes);
    TableResult result;
    result.table = core::ConfigTable::from_bytes(reader.bytes());
    result.origin = reader.text();
    result.fatal_code = static_cast<int>(reader.number());
    result.fatal_message = reader.text();
    const std::uint64_t warnings = reader.number();
    for (std::uint64_t i = 0; i < warnings; ++i)
        result.warnings.push_back(reader.text());
    if (!reader.at_end()) throw Error(ErrorCode::check_failed, "the tuned table arrived from rank 0 with bytes behind its end");
    return result;
}

TableResult agree_on_table(Rank rank, const TableSource& source, const Exchange& exchange) {
    std::vector<std::byte> bytes;
    if (rank == 0) bytes = serialize(run_table_source(source));
    std::uint64_t size = bytes.size();
    exchange.broadcast(&size, sizeof size);
    // Whole words travel; the padding is dropped again.
    bytes.resize((size + 7) / 8 * 8);
    exchange.broadcast(bytes.data(), bytes.size());
    bytes.resize(size);
    Received received = receive(bytes);
    compare(exchange.all_gather(received.digest), received);
    throw_if_fatal(received.result);
    return std::move(received.result);
}

void throw_if_fatal(const TableResult& result) {
    if (result.fatal_code == 0) return;
    const ErrorCode code = result.fatal_code == static_cast<int>(ErrorCode::not_found) ? ErrorCode::not_found : ErrorCode::check_failed;
    throw Error(code, result.fatal_message);
}

}  // namespace attune::collectives
