// When failures that are borne for a while were reported. Whose they are is known to who keeps
// them: a session, or a component of a PerWorkerValue. What they mean is
// policies/transient_failures.hpp.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "server/core/api/time.hpp"

namespace muster::core {

struct transient_reports {
  using times = std::deque<time_point>;       // oldest first, up to the one that is fatal
  std::map<std::string, times> dependencies;  // at most config::dependencies_max
  times timeouts;
};

}  // namespace muster::core
