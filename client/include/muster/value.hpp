// What goes over the wire as arguments and results, and how a closure fails. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// How bytes are to be read.
enum class encoding : std::uint8_t {
  json,   ///< UTF-8 JSON. Arguments: [positional…] or {"args":[…],"kwargs":{…}}
  bytes,  ///< opaque
};

/// A value with its encoding; owns its bytes.
struct value {
  std::string bytes;
  muster::encoding encoding = encoding::json;
};

/// The same, borrowed.
struct value_view {
  std::string_view bytes;
  muster::encoding encoding = encoding::json;
};

enum class failure_kind : std::uint8_t {
  user,             ///< the function raised
  worker_lost,      ///< its worker was lost, too often; set by the server only
  stale_handle,     ///< the worker does not know the function or handle any more; retried
  dependency_lost,  ///< something the function relies on is gone
  timeout,
  cancelled,
  input,  ///< an argument could not be converted, or an input failed
};

/// "USER", "WORKER_LOST", …
std::string_view name(failure_kind kind);

struct failure {
  failure_kind kind = failure_kind::user;
  std::string type{};       // class of the error in its own language, may be empty
  std::string message{};    // one line
  std::string traceback{};  // may be empty
  std::string worker{};     // "worker:3", empty when no worker was involved
  std::uint32_t attempt = 0;
  std::vector<std::string> dependencies{};  // dependency_lost: what is gone, "ps:1"
};

/// Largest result of one closure; a larger one becomes a failure that names this limit.
inline constexpr std::size_t result_bytes_max = std::size_t{32} << 20;

}  // namespace muster
