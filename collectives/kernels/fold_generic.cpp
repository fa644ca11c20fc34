#include "collectives/kernels/fold_vectors.hpp"

namespace attune::collectives {

const FoldTable& fold_table_generic() noexcept {
    return table;
}

}  // namespace attune::collectives
