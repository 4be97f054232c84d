// Where an object is made, and how it lives.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

struct object_options {
  std::string task{};  // "ps:0"; empty: the server picks one; C++ classes need one
  std::string name{};  // by which others find it; at most 256 bytes, or empty
  /// It outlives its coordinator, and needs a name. Else it goes when the coordinator does.
  bool detached = false;
  /// Checkpoints of this coordinator have it: its class is object_class::saved, or has save_state
  /// and load_state in Python. It needs a name.
  bool saved = false;
  /// So many of its methods run at one time, as far as its class allows it. Else one after the
  /// other.
  std::uint32_t concurrency = 1;
};

}  // namespace muster
