#include "collectives/kernels/float_folds.hpp"

namespace attune::collectives {

const FoldTable& float_folds_avx512() noexcept {
    return float_table;
}

}  // namespace attune::collectives
