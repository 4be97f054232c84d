// Stubs for builds without TCPStores (MUSTER_WITH_TORCH_STORE=OFF).
#include "web/rest/handlers.hpp"

namespace muster::web {

void add_torch_routes(std::vector<route>&) {}

}  // namespace muster::web
