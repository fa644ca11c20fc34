// Starts a program as ranks with traces into a folder.
#pragma once

#include <string>
#include <vector>

namespace attune::tools::profile {

struct RecordOptions {
    std::string folder;                 // empty: a new one here
    std::vector<std::string> launcher;  // options of attune-run, as given
    std::vector<std::string> command;
};

// Runs attune-run and says on stderr where the traces are. Returns its status; 1 with a reason when the program made no trace. Throws Error(usage)
// without a command and Error(failure) when the folder cannot be made or is not empty of traces.
int record(const RecordOptions& options);

// The files of traces in a folder, or the file itself. Throws Error(not_found) when there is none.
std::vector<std::string> trace_files(const std::vector<std::string>& paths);
// The newest folder of traces here, as record() names them. Throws Error(not_found).
std::string newest_folder();

}  // namespace attune::tools::profile
