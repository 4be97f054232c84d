// Names of roles, and what permissions are called when they are refused.
#include "server/core/access/role.hpp"

#include <array>

namespace muster::core {
namespace {
constexpr std::array<std::string_view, 4> names = {"viewer", "submitter", "worker", "admin"};
}  // namespace

std::string_view name(role r) {
  return names[static_cast<std::size_t>(r)];
}

std::optional<role> parse_role(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return static_cast<role>(i);
  return {};
}

std::string_view description(permission p) {
  switch (p) {
    case permission::nothing:
      return "do this";
    case permission::view:
      return "look at anything";
    case permission::submit:
      return "submit";
    case permission::work:
      return "attach a worker";
    case permission::share:
      return "exchange blobs";
    case permission::coordinate:
      return "be a task of a cluster";
    case permission::read_keys:
      return "read keys of a cluster";
    case permission::administer:
      return "administer the server";
  }
  return "do this";
}

}  // namespace muster::core
