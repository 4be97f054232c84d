// The PerWorkerValues that a worker keeps, by handle: JSON, bytes, a C++ object, or the error of
// the builder. Lives as long as the worker, over reconnects. Any thread.
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
  value data;                    // unless it is an object or an error
  std::any object;               // std::shared_ptr<T>
  std::optional<failure> error;  // the builder's
};

class per_worker_store {
 public:
  /// Bounded by the server, which holds no more than its limit of values.
  void keep(std::uint64_t handle, kept_value v);
  void drop(std::uint64_t handle);
  /// A copy; nothing when the handle is unknown.
  std::optional<kept_value> find(std::uint64_t handle) const;
  /// Handles with a value; errors are built again on request.
  std::vector<std::uint64_t> handles() const;

  /// Puts JSON values in place of {"$per_worker":"pw_…"} in the arguments, where `uses` has them.
  /// Objects stay as they are: the parameter finds them by its handle. Errors: function_error
  /// INPUT names the value.
  void resolve(boost::json::value& args, std::vector<std::uint64_t> const& uses) const;
  /// The same as text, for raw functions.
  value resolve(value_view args, std::vector<std::uint64_t> const& uses) const;

 private:
  mutable std::mutex mutex_;  // protects values_
  std::unordered_map<std::uint64_t, kept_value> values_;
};

}  // namespace muster
