// The one source that is compiled again when the version changes.
#include "base/version.hpp"

namespace muster {

std::string_view version() noexcept {
  return MUSTER_VERSION;
}

}  // namespace muster
