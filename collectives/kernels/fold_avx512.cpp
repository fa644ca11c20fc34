#include "collectives/kernels/fold_vectors.hpp"

namespace attune::collectives {

const FoldTable& fold_table_avx512() noexcept {
    return table;
}

}  // namespace attune::collectives
