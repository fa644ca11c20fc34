#include "collectives/kernels/integer_folds.hpp"

namespace attune::collectives {

const FoldTable& integer_folds_generic() noexcept {
    return integer_table;
}

}  // namespace attune::collectives
