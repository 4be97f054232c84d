// Options of an object: its task, name and lifetime.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// Options of an object; see cluster_coordinator::create.
struct object_options {
  /// Task that stores the object, for example "ps:0". If empty, the server selects a task. Required
  /// for C++ classes.
  std::string task{};
  /// Name by which other programs find the object, at most 256 bytes; can be empty.
  std::string name{};
  /// Keep the object after its coordinator has ended, instead of deleting the object. Requires a
  /// name.
  bool detached = false;
  /// Include the object in this coordinator's checkpoints. Requires a name. A C++ class must be
  /// registered with object_class::saved; a Python class must define save_state and load_state.
  bool saved = false;
  /// Number of methods that can run at the same time; the class can set a lower limit. With 1,
  /// methods run one after the other.
  std::uint32_t concurrency = 1;
};

}  // namespace muster
