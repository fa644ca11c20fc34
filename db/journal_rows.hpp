// Trials to rows of the journal and back.
#pragma once

#include "db/journal.hpp"
#include "db/sqlite.hpp"

#include <optional>

namespace attune::db {

std::int64_t insert_trial(Database& database, std::int64_t identity, const std::string& identity_digest, const Trial& trial);

// Reads in order of id. A row whose digest or values do not fit gives an empty optional.
class TrialReader {
public:
    TrialReader(const Database& database, std::int64_t identity, std::string identity_digest);
    bool next();
    std::int64_t id() const noexcept { return id_; }
    std::optional<Trial> trial();

private:
    Statement query_;
    std::string identity_digest_;
    std::int64_t id_ = 0;
};

}  // namespace attune::db
