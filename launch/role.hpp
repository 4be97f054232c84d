// One program that a run starts. A value.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster::launch {

struct role {
  std::string name;  // "worker:3"
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  // all of it
  /// Has no end of its own: it is stopped once all others have ended well.
  bool serves = false;
};

}  // namespace muster::launch
