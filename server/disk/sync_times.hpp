// Times that this process needed to make batches of the journal durable. Global, because a server
// has one journal, and readers of the figures do not know the journal. The journal's thread adds.
#pragma once

#include "base/duration_meter.hpp"

namespace muster::server {

inline duration_meter& sync_times() {
  static duration_meter times;
  return times;
}

}  // namespace muster::server
