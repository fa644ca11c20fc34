// The version of the build; the number comes from the project() line of CMake.
#include "apps/tools/support/run_tool.hpp"

namespace attune::tools {

std::string_view version() noexcept {
    return ATTUNE_VERSION;
}

}  // namespace attune::tools
