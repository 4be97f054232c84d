// Times at which tolerated failures were reported. Owned by a session, or by a component of a
// PerWorkerValue. See policies/transient_failures.hpp for their meaning.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "server/core/api/time.hpp"

namespace muster::core {

struct transient_reports {
  using times = std::deque<time_point>;       // oldest first, up to the fatal one
  std::map<std::string, times> dependencies;  // at most config::dependencies_max
  times timeouts;
};

}  // namespace muster::core
