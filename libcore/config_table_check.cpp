// Reading a flat table that nobody vouches for: exactly the bytes build() writes are accepted, in time linear in their number.
#include "libcore/config_table_format.hpp"
#include "libcore/crypto.hpp"

#include <fmt/format.h>

#include <utility>

namespace attune::core {

namespace {

using namespace table_format;

Error corrupt(std::string_view reason) {
    return Error(ErrorCode::check_failed, fmt::format("the table of tuned choices is corrupt: {}; publish or fetch it again", reason));
}

// After this every record and the string area lie inside the bytes.
View check_header(std::span<const std::byte> bytes) {
    if (bytes.size() < header_bytes) throw corrupt(fmt::format("{} bytes are too few for its header", bytes.size()));
    const std::string_view found(reinterpret_cast<const char*>(bytes.data()), magic.size());
    if (found != magic) throw corrupt("it does not begin with its magic number");
    const auto format = load_little<std::uint32_t>(bytes.data() + at_version);
    if (format != version) {
        const auto reason = fmt::format("the table of tuned choices has format {}; this program reads format {}; update the older of the two", format, version);
        throw Error(ErrorCode::check_failed, reason);
    }
    if (load_little<std::uint32_t>(bytes.data() + at_record_bytes) != record_bytes) throw corrupt("its record size is wrong");
    const auto rows = load_little<std::uint64_t>(bytes.data() + at_rows);
    const std::uint64_t rest = bytes.size() - header_bytes;
    // The division first, so the product cannot overflow.
    const bool fits = rows <= rest / record_bytes && load_little<std::uint64_t>(bytes.data() + at_string_bytes) == rest - rows * record_bytes;
    if (!fits) throw corrupt(fmt::format("its length of {} bytes does not fit its header", bytes.size()));
    return {bytes, static_cast<std::size_t>(rows)};
}

class Checker {
public:
    explicit Checker(const View& view) : view_(view) {}

    void check_all() {
        for (std::size_t index = 0; index < view_.rows; ++index) {
            try {
                check_next(view_.record(index), index == 0);
            } catch (const Error& error) {
                throw corrupt(fmt::format("row {}: {}", index, error.what()));
            }
        }
        if (string_end_ != view_.string_bytes()) throw corrupt("texts that belong to no row follow");
    }

private:
    void check_next(const std::byte* record, bool first) {
        CheckedRow next = last_;
        read_numbers(record, next.row);
        for (std::size_t field = 0; field < text_count; ++field) {
            const Place place = place_at(record, field);
            if (!first && place == places_[field]) continue;  // the text of the row before, parsed already
            read_text(next, field, place, first);
            places_[field] = place;
        }
        check_row(next.row, next.texts, ErrorCode::check_failed);
        if (!first) check_follows(last_, next, ErrorCode::check_failed);
        last_ = std::move(next);
    }

    // A new text begins where the one before ended, so no two overlap, none is read twice and no byte is left out.
    void read_text(CheckedRow& next, std::size_t field, const Place& place, bool first) {
        if (place.offset != string_end_) throw corrupt("a text is not where the one before ends");
        if (place.length > longest_text || place.length > view_.string_bytes() - string_end_) throw corrupt("a text is too long");
        string_end_ += place.length;
        next.texts[field] = view_.text(place);
        if (!first && next.texts[field] == last_.texts[field]) throw corrupt("a text is stored twice");
        if (parse_text(next.row, next.texts[field], field) != next.texts[field]) throw corrupt("a text is not in its canonical form");
    }

    // Returns the canonical text of what was parsed.
    static std::string parse_text(TableRow& row, const std::string& text, std::size_t field) {
        switch (static_cast<TextField>(field)) {
            case key_text:
                row.key = Key::parse(text);
                return row.key.text();
            case config_text:
                row.config = Config::parse(text);
                return row.config.text();
            case default_text:
                row.default_config = Config::parse(text);
                return row.default_config.text();
            case instruction_text:
                row.instruction_set = text;
                return text;
        }
        return {};
    }

    View view_;
    CheckedRow last_;
    std::array<Place, text_count> places_{};
    std::size_t string_end_ = 0;
};

}  // namespace

ConfigTable ConfigTable::from_bytes(std::span<const std::byte> bytes) {
    const View view = check_header(bytes);
    Checker(view).check_all();
    ConfigTable table;
    table.bytes_.assign(bytes.begin(), bytes.end());
    table.digest_ = digest64(bytes);
    table.count_ = view.rows;
    return table;
}

}  // namespace attune::core
