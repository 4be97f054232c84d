// The only source that is recompiled when the version changes.
#include "base/version.hpp"

namespace muster {

std::string_view version() noexcept {
  return MUSTER_VERSION;
}

}  // namespace muster
