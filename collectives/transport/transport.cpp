#include "collectives/transport/transport.hpp"

namespace attune::collectives {

std::string Transport::direct_refusal() const {
    return "transport " + std::string(name()) + " cannot copy between the buffers of two ranks";
}

}  // namespace attune::collectives
