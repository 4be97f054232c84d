// PerWorkerValues as functions see them: {"$per_worker":"pw_…"} among the arguments stands for what
// this worker built and keeps. A JSON value is put in its place; a C++ object, built by a function
// that returns std::shared_ptr<T>, is a parameter of type std::shared_ptr<T>.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace muster {

/// "pw_…", as REST and the dashboard show it.
std::string per_worker_text(std::uint64_t handle);

/// The handle when the value is {"$per_worker":"pw_…"}.
std::optional<std::uint64_t> per_worker_handle(boost::json::value const& v);

}  // namespace muster
