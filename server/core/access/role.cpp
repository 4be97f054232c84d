#include "server/core/access/role.hpp"

namespace muster::core {

std::string_view description(permission p) {
  switch (p) {
    case permission::nothing:
      return "do this";
    case permission::view:
      return "view the server's data";
    case permission::submit:
      return "submit work";
    case permission::work:
      return "attach a worker";
    case permission::share:
      return "exchange blobs";
    case permission::coordinate:
      return "join a cluster as a task";
    case permission::read_keys:
      return "read a cluster's keys";
    case permission::administer:
      return "administer the server";
  }
  return "do this";
}

}  // namespace muster::core
