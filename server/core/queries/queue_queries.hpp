// Queries about the order in which waiting closures start.
//
// Used only on the engine thread.
#pragma once

#include "server/core/api/waiting_views.hpp"

namespace muster::core {

struct engine_state;
class explainer;

class queue_queries {
 public:
  queue_queries(engine_state const& core, explainer const& why) : core_(core), why_(why) {}

  /// Returns waiting closures, grouped by function, needs and priority, in the order of dispatch.
  ///
  /// The order is an estimate, because jobs take turns: an entry that is next in its job comes
  /// before an entry that is second in its job. Entries that no connected worker can run are last.
  /// The cost does not depend on the number of closures. The numbers of visited queues, gangs and
  /// workers are limited, so that a call takes a few milliseconds.
  ///
  /// @param from number of entries to skip
  queue_view list(time_point now, std::size_t from, std::size_t limit) const;

 private:
  engine_state const& core_;
  explainer const& why_;
};

}  // namespace muster::core
