// Times at which tolerated failures were reported to a session or to a component of a per-worker
// value; see policies/transient_failures.hpp.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "server/core/api/time.hpp"

namespace muster::core {

struct transient_reports {
  using times = std::deque<time_point>;       // oldest first, up to the fatal report
  std::map<std::string, times> dependencies;  // at most config::dependencies_max
  times timeouts;
};

}  // namespace muster::core
