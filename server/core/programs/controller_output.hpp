// What a step of the controller says: orders to workers, and what became of programs. Valid until
// the coordinator's next step.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "server/core/api/incidents.hpp"
#include "server/core/api/ranks.hpp"

namespace muster::core::programs {

struct output {
  std::vector<rank_orders> orders;  // one for each worker at most
  std::vector<program_changed> changes;
  std::vector<rank_name> dead;  // ranks that are known to be, since this step
  std::vector<incidents::program_failed> failures;

  /// REQUIRES: there is such a stream.
  rank_orders& to(stream_id stream) {
    auto const at = std::find_if(orders.begin(), orders.end(),
                                 [stream](auto const& o) { return o.stream == stream; });
    if (at != orders.end()) return *at;
    orders.emplace_back().stream = stream;
    return orders.back();
  }
  bool empty() const {
    return orders.empty() && changes.empty() && dead.empty() && failures.empty();
  }
  void clear() {
    if (!empty()) *this = {};
  }
};

}  // namespace muster::core::programs
