// Encoded arguments and results, and the failure of a call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Encoding of arguments and results.
enum class encoding : std::uint8_t {
  json,   ///< UTF-8 JSON; arguments are [positional…] or {"args":[…],"kwargs":{…}}
  bytes,  ///< opaque bytes
};

/// An encoded value that owns its bytes.
struct value {
  /// The encoded value.
  std::string bytes;
  /// Encoding of `bytes`.
  muster::encoding encoding = encoding::json;
};

/// An encoded value that refers to bytes owned by the caller.
struct value_view {
  /// The encoded value; valid while its owner exists.
  std::string_view bytes;
  /// Encoding of `bytes`.
  muster::encoding encoding = encoding::json;
};

/// Why a call failed.
enum class failure_kind : std::uint8_t {
  user,             ///< the function threw
  worker_lost,      ///< workers were lost too often; set only by the server
  stale_handle,     ///< the worker does not know the function or handle; the call is retried
  dependency_lost,  ///< a server, job or worker that the function needs is unavailable
  /// A deadline has passed.
  timeout,
  /// The call was cancelled by a user, or because another call failed.
  cancelled,
  input,  ///< an argument could not be converted, or a call whose output is an argument failed
};

/// Returns the kind in capitals, for example "USER" or "WORKER_LOST".
/// @param kind  the kind
std::string_view name(failure_kind kind);

/// The failure of a call.
struct failure {
  /// Why the call failed.
  failure_kind kind = failure_kind::user;
  /// Class name of the error in the language of the function; can be empty.
  std::string type{};
  /// Error message, one line.
  std::string message{};
  /// Stack trace of the error; can be empty.
  std::string traceback{};
  /// Worker that ran the call, for example "worker:3"; empty if the call did not run.
  std::string worker{};
  /// Number of the failed attempt; 0 if the call never ran.
  std::uint32_t attempt = 0;
  /// Unavailable tasks, for example "ps:1", if `kind` is failure_kind::dependency_lost.
  std::vector<std::string> dependencies{};
};

/// Maximum bytes of a call's result; a larger result fails the call.
inline constexpr std::size_t result_bytes_max = std::size_t{32} << 20;

}  // namespace muster
