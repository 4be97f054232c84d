// Options of an object: its task, name and lifetime.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// Options of an object; see cluster_coordinator::create.
struct object_options {
  /// Task that holds the object, for example "ps:0". Empty: the server selects a task. Required for
  /// C++ classes.
  std::string task{};
  /// Name by which other programs find the object, up to 256 bytes; may be empty.
  std::string name{};
  /// Keep the object after its coordinator ends; requires a name. Otherwise it is deleted then.
  bool detached = false;
  /// Save the object in this coordinator's checkpoints; requires a name. Its class must call
  /// object_class::saved in C++, or define save_state and load_state in Python.
  bool saved = false;
  /// Number of methods that can run at the same time, limited by the class. 1: one after the other.
  std::uint32_t concurrency = 1;
};

}  // namespace muster
