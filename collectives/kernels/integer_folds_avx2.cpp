#include "collectives/kernels/integer_folds.hpp"

namespace attune::collectives {

const FoldTable& integer_folds_avx2() noexcept {
    return integer_table;
}

}  // namespace attune::collectives
