// The page that is served if the build does not include the dashboard.
#include "web/server/assets.hpp"

namespace muster::web {

std::span<embedded_asset const> embedded_assets() {
  static constexpr std::string_view page =
      "Muster is running. This binary was built without its dashboard (MUSTER_DASHBOARD=OFF).\n"
      "The REST interface is at /api/v1/, described by /openapi.json; metrics are at /metrics.\n";
  static constexpr embedded_asset assets[] = {
      {"/", "text/plain; charset=utf-8", "\"no-dashboard\"", false, page, {}}};
  return assets;
}

}  // namespace muster::web
