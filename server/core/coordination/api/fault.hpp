// An error of the coordination service, with what its clients read besides code and text. Shared:
// one failed barrier answers a thousand callers with one fault.
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

/// A task of a cluster: its place in the cluster's roll, jobs in declared order.
using task_index = std::uint32_t;
inline constexpr task_index no_task = ~task_index{0};

struct barrier_instance {
  std::string id;
  std::int64_t counter = 0;  ///< which use of the id, from 0
  bool operator==(barrier_instance const&) const = default;
};

struct fault {
  muster::code code = muster::code::unknown;
  std::string message;  ///< at most `message_bytes_max`, UTF-8
  /// Clients treat it as an answer of the service rather than a broken connection.
  bool coordination = true;
  task_index source = no_task;  ///< the task it is about
  bool reported = false;        ///< by the task itself
  /// Clients go on counting from here; every error that ends a barrier carries it.
  std::optional<barrier_instance> barrier = {};
  /// The true incarnation, for a caller that believes in another one.
  std::optional<core::incarnation> mismatch = {};
  bool no_room = false;  ///< see base/no_room.hpp; over REST alone

  bool operator==(fault const&) const = default;
};

/// Where a failure began, apart from those it took down.
struct first_cause {
  std::string task;  ///< empty when no single task is to blame
  std::string peer;
  std::string message;
  time_point at{};
  bool operator==(first_cause const&) const = default;
};

/// Null means OK.
using fault_ptr = std::shared_ptr<fault const>;

/// Trailers have 8 KB for everything; longer texts would arrive as RESOURCE_EXHAUSTED.
inline constexpr std::size_t message_bytes_max = 3'072;

/// The text, or its beginning with a mark that it was cut; never inside a UTF-8 sequence.
inline std::string shortened(std::string_view text, std::size_t bytes_max) {
  constexpr std::string_view mark = " ... [truncated]";
  if (text.size() <= bytes_max) return std::string(text);
  auto const most = bytes_max - std::min(bytes_max, mark.size());
  return std::string(text.substr(0, border_at(text, most))).append(mark);
}

/// A task that fails or leaves.
struct task_error {
  task_index task = no_task;
  fault_ptr error;  ///< null: it left
  std::string why(std::string const& name) const {
    return error ? shortened(error->message, 1'500) : name + " has left";
  }
};

// How errors are made: with so much of their text as trailers can carry.

/// What fits into the 8 KB that a client takes for all trailers, their names and gRPC's own
/// included, counted as they travel: text percent-encoded, details in base64.
inline constexpr std::size_t trailer_bytes_max = 7'000;
/// How many bytes from the text's beginning take at most so many as they travel: gRPC sends three
/// for each that is not printable ASCII.
std::size_t fitting(std::string_view text, std::size_t bytes);
/// So much of the text as fits beside details of this size.
std::string cut(std::string_view message, std::size_t details_bytes = 0);

/// About the request itself. `coordination`: see fault.
fault_ptr refusal(code c, std::string_view message, bool coordination = true);
/// About a task; `no_task`: about none in particular.
fault_ptr task_fault(task_index t, code c, std::string_view message, bool reported = false);
/// What the refusal of a heartbeat tells of an error: ABORTED whatever it is, since agents try
/// again after UNAVAILABLE. `how`: more about the task; may be empty.
fault_ptr heartbeat_fault(fault const& told, std::string const& how);
/// About an instance of a barrier, which its callers go on counting from.
fault_ptr barrier_fault(barrier_instance b, code c, std::string_view message);
/// The caller believes in another incarnation of the service.
fault wrong_service(core::incarnation believed, core::incarnation now);
/// "key: has 70000 bytes, the limit is 65536"
std::string longer_than(std::string_view field, std::size_t bytes, std::size_t bytes_max);

}  // namespace muster::core::coordination
