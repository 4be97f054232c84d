// Output of a controller step. Valid until the coordinator's next step.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "server/core/api/incidents.hpp"
#include "server/core/api/ranks.hpp"

namespace muster::core::programs {

struct output {
  std::vector<rank_orders> orders;  // at most one per worker
  std::vector<program_changed> changes;
  std::vector<rank_name> dead;
  std::vector<incidents::program_failed> failures;

  /// REQUIRES: the stream exists.
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
