// A worker's per-worker values by handle: JSON, bytes, a C++ object, or the builder's error.
// Outlives connections. Thread-safe.
#pragma once

#include <any>
#include <boost/json/fwd.hpp>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "muster/value.hpp"

namespace muster {

struct kept_value {
  value data;       // JSON or bytes, used if there is neither an object nor an error
  std::any object;  // contains a std::shared_ptr<T>
  std::optional<failure> error;
};

class per_worker_store {
 public:
  /// Stores a value. The server limits the number of values.
  void keep(std::uint64_t handle, kept_value v);
  void drop(std::uint64_t handle);
  std::optional<kept_value> find(std::uint64_t handle) const;
  /// Returns the handles of the stored values. Omits values whose builder failed; they are rebuilt
  /// on request.
  std::vector<std::uint64_t> handles() const;

  /// Replaces {"$per_worker":"pw_…"} in the arguments with the JSON value if `uses` contains its
  /// handle. C++ objects are not replaced: the parameter finds them by handle.
  /// @throws function_error INPUT, whose message names the value
  void resolve(boost::json::value& args, std::vector<std::uint64_t> const& uses) const;
  /// Resolves encoded arguments, for raw functions.
  value resolve(value_view args, std::vector<std::uint64_t> const& uses) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, kept_value> values_;
};

}  // namespace muster
