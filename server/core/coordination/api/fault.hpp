// A coordination error with the details that clients read. Shared, because a failed barrier can
// answer a thousand callers with one fault.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/utf8.hpp"
#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::core::coordination {

/// Index of a task in its cluster, counted through the roles in declaration order.
using task_index = std::uint32_t;
inline constexpr task_index no_task = ~task_index{0};

struct barrier_instance {
  std::string id;
  std::int64_t counter = 0;  ///< number of earlier uses of the id
  bool operator==(barrier_instance const&) const = default;
};

struct fault {
  muster::code code = muster::code::unknown;
  std::string message;  ///< UTF-8, at most `message_bytes_max`
  /// Whether clients treat the fault as the service's answer rather than a broken connection.
  bool coordination = true;
  task_index source = no_task;
  bool reported = false;
  /// Instance from which clients continue counting. Set for every error that ends a barrier.
  std::optional<barrier_instance> barrier = {};
  /// The current incarnation, set if the caller named a different incarnation.
  std::optional<core::incarnation> mismatch = {};
  bool no_room = false;  ///< used only for REST; see base/no_room.hpp

  bool operator==(fault const&) const = default;
};

struct first_cause {
  std::string task;  ///< empty if no single task is to blame
  std::string peer;
  std::string message;
  time_point at{};
  bool operator==(first_cause const&) const = default;
};

/// A null pointer means success.
using fault_ptr = std::shared_ptr<fault const>;

/// gRPC trailers have 8 KB, and longer messages would arrive as RESOURCE_EXHAUSTED.
inline constexpr std::size_t message_bytes_max = 3'072;

/// Returns the text, or a prefix that is marked as shortened. Never splits a UTF-8 sequence.
inline std::string shortened(std::string_view text, std::size_t bytes_max) {
  constexpr std::string_view mark = " ... [truncated]";
  if (text.size() <= bytes_max) return std::string(text);
  auto const most = bytes_max - std::min(bytes_max, mark.size());
  return std::string(text.substr(0, utf8_boundary(text, most))).append(mark);
}

struct task_error {
  task_index task = no_task;
  fault_ptr error;  ///< null if the task left
  std::string why(std::string const& name) const {
    return error ? shortened(error->message, 1'500) : name + " has left";
  }
};

/// Usable part of the 8 KB for trailers. Messages are percent-encoded, details base64-encoded.
inline constexpr std::size_t trailer_bytes_max = 7'000;
/// Returns the length of the longest prefix that occupies at most `bytes` when encoded. gRPC sends
/// three bytes for each byte that is not printable ASCII.
std::size_t fitting(std::string_view text, std::size_t bytes);
/// Returns the prefix of the message that fits into the trailers together with details of the given
/// size.
std::string cut(std::string_view message, std::size_t details_bytes = 0);

fault_ptr refusal(code c, std::string_view message, bool coordination = true);
fault_ptr task_fault(task_index t, code c, std::string_view message, bool reported = false);
/// Returns the fault that delivers an error by refusing a heartbeat. The code is ABORTED, because
/// agents retry after UNAVAILABLE. `how` contains details about the task and may be empty.
fault_ptr heartbeat_fault(fault const& told, std::string const& how);
/// Returns a fault with the barrier instance from which callers continue counting.
fault_ptr barrier_fault(barrier_instance b, code c, std::string_view message);
fault wrong_service(core::incarnation believed, core::incarnation now);
/// Example: "key: has 70000 bytes, the limit is 65536".
std::string longer_than(std::string_view field, std::size_t bytes, std::size_t bytes_max);

}  // namespace muster::core::coordination
