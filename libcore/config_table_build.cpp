// Writing the flat table from rows.
#include "libcore/config_table_format.hpp"
#include "libcore/crypto.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace attune::core {

namespace {

using namespace table_format;

class Writer {
public:
    // `last` is the row appended before, or null.
    void append(const CheckedRow& next, const CheckedRow* last) {
        for (std::size_t field = 0; field < text_count; ++field) {
            const bool repeated = last != nullptr && last->texts[field] == next.texts[field];
            append_place(next.texts[field], repeated);
        }
        append_little(records_, next.row.low_bytes);
        append_little(records_, next.row.high_bytes);
        append_little(records_, next.row.default_version);
        append_little(records_, next.row.algorithm_version);
        const TableRow& row = next.row;
        for (const double value : {row.default_ns, row.best_ns, row.gain, row.gain_low, row.gain_high})
            append_double(records_, value);
        ++rows_;
    }

    std::vector<std::byte> finish() const {
        std::vector<std::byte> bytes;
        bytes.reserve(header_bytes + records_.size() + strings_.size());
        for (const char c : magic)
            bytes.push_back(static_cast<std::byte>(c));
        append_little(bytes, version);
        append_little(bytes, static_cast<std::uint32_t>(record_bytes));
        append_little(bytes, rows_);
        append_little(bytes, static_cast<std::uint64_t>(strings_.size()));
        bytes.insert(bytes.end(), records_.begin(), records_.end());
        const auto text = std::as_bytes(std::span(strings_));
        bytes.insert(bytes.end(), text.begin(), text.end());
        return bytes;
    }

private:
    void append_place(const std::string& text, bool repeated) {
        // One record back from the end of `records_` is the same field of the record before.
        const std::size_t offset = repeated ? load_little<std::uint32_t>(records_.data() + records_.size() - record_bytes) : strings_.size();
        if (offset > std::numeric_limits<std::uint32_t>::max()) throw Error(ErrorCode::failure, "the table's texts exceed 4 GiB; publish fewer rows");
        append_little(records_, static_cast<std::uint32_t>(offset));
        append_little(records_, static_cast<std::uint32_t>(text.size()));
        if (!repeated) strings_ += text;
    }

    std::vector<std::byte> records_;
    std::string strings_;
    std::uint64_t rows_ = 0;
};

bool goes_before(const CheckedRow& a, const CheckedRow& b) {
    if (a.texts[key_text] != b.texts[key_text]) return a.texts[key_text] < b.texts[key_text];
    return a.row.low_bytes < b.row.low_bytes;
}

}  // namespace

ConfigTable::ConfigTable() : bytes_(Writer().finish()), digest_(digest64(bytes_)) {}

ConfigTable ConfigTable::build(std::vector<TableRow> rows) {
    std::vector<CheckedRow> sorted;
    sorted.reserve(rows.size());
    for (TableRow& row : rows) {
        Texts texts = texts_of(row);
        check_row(row, texts, ErrorCode::failure);
        sorted.push_back({std::move(row), std::move(texts)});
    }
    std::sort(sorted.begin(), sorted.end(), goes_before);
    Writer writer;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const CheckedRow* last = i > 0 ? &sorted[i - 1] : nullptr;
        if (last != nullptr) check_follows(*last, sorted[i], ErrorCode::failure);
        writer.append(sorted[i], last);
    }
    ConfigTable table;
    table.bytes_ = writer.finish();
    table.digest_ = digest64(table.bytes_);
    table.count_ = sorted.size();
    return table;
}

}  // namespace attune::core
