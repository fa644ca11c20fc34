#include "collectives/group_bootstrap.hpp"

#include "collectives/bootstrap_wire.hpp"
#include "collectives/host.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;

enum State : std::uint64_t { contributes, finished, gave_up };

std::uint64_t whole_words(std::uint64_t bytes) {
    return (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
}

}  // namespace

// What every rank of the parent says in every exchange. Whole words.
struct GroupBootstrap::Record {
    std::uint64_t state = contributes;
    std::uint64_t bytes = 0;
    std::int64_t process = 0;
    std::uint64_t space = 0;
    std::array<std::int64_t, bootstrap_descriptor_limit> descriptors{-1, -1, -1, -1};
    std::array<char, 512> reason{};

    bool passes_descriptors() const noexcept { return descriptors.front() >= 0; }
};

GroupBootstrap::GroupBootstrap(ParentTeam parent, std::vector<Rank> members) : parent_(std::move(parent)), members_(std::move(members)) {
    const auto own = std::ranges::find(members_, parent_.rank);
    if (own != members_.end()) rank_ = static_cast<Rank>(own - members_.begin());
}

std::vector<GroupBootstrap::Record> GroupBootstrap::exchange(const Record& own) {
    static_assert(sizeof(Record) % sizeof(std::uint64_t) == 0);
    std::vector<Record> records(static_cast<std::size_t>(parent_.size));
    parent_.all_gather(&own, records.data(), sizeof(Record));
    return records;
}

void GroupBootstrap::require_members(const std::vector<Record>& records) const {
    for (std::size_t member = 0; member < members_.size(); ++member) {
        const Record& record = records[static_cast<std::size_t>(members_[member])];
        if (record.state == contributes) continue;
        const std::string why = record.state == gave_up ? record.reason.data() : "it has finished already";
        throw Error(ErrorCode::failure, fmt::format("rank {} of {} cannot meet rank {}: {}", rank_, size(), member, why));
    }
}

std::vector<Contribution> GroupBootstrap::all_gather(std::span<const std::byte> bytes, std::span<const int> descriptors) {
    check_limits(bytes, descriptors);
    Record own{.bytes = bytes.size(), .process = ::getpid(), .space = this_host().processes};
    std::ranges::copy(descriptors, own.descriptors.begin());
    const std::vector<Record> records = exchange(own);
    const std::uint64_t width = whole_words(std::ranges::max(records, {}, &Record::bytes).bytes);
    std::vector<std::byte> padded(width), all(width * records.size());
    std::ranges::copy(bytes, padded.begin());
    if (width > 0) parent_.all_gather(padded.data(), all.data(), width);
    std::vector<Contribution> contributions(members_.size());
    for (std::size_t member = 0; member < members_.size(); ++member) {
        const auto from = static_cast<std::size_t>(members_[member]);
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from * width);
        contributions[member].bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(records[from].bytes));
    }
    receive_descriptors(records, contributions);
    return contributions;
}

// Opening /proc/<pid>/fd/<n> of a memfd gives a description of the same memory; it needs the owner to keep its own open until then.
void GroupBootstrap::receive_descriptors(const std::vector<Record>& records, std::vector<Contribution>& contributions) {
    std::string failure;
    for (std::size_t member = 0; member < members_.size(); ++member) {
        const Record& record = records[static_cast<std::size_t>(members_[member])];
        for (const std::int64_t number : record.descriptors) {
            if (number < 0) continue;
            const bool reachable = record.space == records[static_cast<std::size_t>(parent_.rank)].space;
            const std::string path = fmt::format("/proc/{}/fd/{}", record.process, number);
            const int opened = reachable ? ::open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
            if (reachable && opened < 0)
                failure = fmt::format("rank {} cannot open the memory of rank {} ({}: {}); run all ranks as one user and with /proc mounted", rank_, member,
                                      path, std::strerror(errno));
            contributions[member].descriptors.push_back(opened);
        }
    }
    if (std::ranges::any_of(records, &Record::passes_descriptors)) exchange({});
    try {
        require_members(records);
        if (!failure.empty()) throw Error(ErrorCode::failure, failure);
    } catch (const Error&) {
        for (Contribution& contribution : contributions)
            close_all(contribution.descriptors);
        throw;
    }
}

std::optional<std::string> GroupBootstrap::finish(const std::string& failure) {
    Record own{.state = failure.empty() ? finished : gave_up};
    std::memcpy(own.reason.data(), failure.data(), std::min(failure.size(), own.reason.size() - 1));
    while (true) {
        const std::vector<Record> records = exchange(own);
        const bool passing = std::ranges::any_of(records, &Record::passes_descriptors);
        const bool over = std::ranges::none_of(records, [](const Record& record) { return record.state == contributes; });
        const std::uint64_t width = whole_words(std::ranges::max(records, {}, &Record::bytes).bytes);
        const std::vector<std::byte> nothing(width);
        std::vector<std::byte> ignored(width * records.size());
        if (width > 0) parent_.all_gather(nothing.data(), ignored.data(), width);
        if (passing) exchange(own);
        if (!over) continue;
        for (const Rank member : members_) {
            const Record& record = records[static_cast<std::size_t>(member)];
            if (member != parent_.rank && record.state == gave_up) return std::string(record.reason.data());
        }
        return std::nullopt;
    }
}

}  // namespace attune::collectives
