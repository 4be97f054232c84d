// Per-worker values in the form that functions receive. The argument {"$per_worker":"pw_…"} stands
// for a value that this worker has built and stored. The worker replaces the argument with the JSON
// value, or passes the C++ object to a parameter of type std::shared_ptr<T>.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace muster {

/// Returns the ID that REST and the dashboard show, "pw_…".
/// @param handle  number that the server assigned to the value
std::string per_worker_text(std::uint64_t handle);

/// Returns the handle of the per-worker value if `v` is {"$per_worker":"pw_…"}, otherwise nothing.
/// @param v  an argument
std::optional<std::uint64_t> per_worker_handle(boost::json::value const& v);

}  // namespace muster
