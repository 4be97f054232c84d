// The output of a step, which the I/O layer sends. Valid until the next step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/core/api/changes.hpp"
#include "server/core/api/facts.hpp"
#include "server/core/api/program_facts.hpp"

namespace muster::core {

struct welcome {
  stream_id stream{};
  std::string job;
  std::int64_t index = 0;
  std::uint32_t credits = 0;
  duration heartbeat_interval{};
  /// Ascending indices into worker_attached::held: the closures that continue.
  std::vector<std::uint32_t> kept{};
  duration reconnect_grace{};
  // Maximum closures that can wait for values at the same time.
  std::uint32_t nested_max = 0;
  /// Indices into programs_offer::held: ranks that continue, or whose exit was recorded. Not set if
  /// there was no offer.
  std::optional<std::vector<std::uint32_t>> kept_ranks{};

  bool operator==(welcome const&) const = default;
};

struct assignment {
  closure_id closure{};
  std::uint32_t attempt = 0;
  function_id function{};
  blob args;
  std::shared_ptr<std::vector<blob> const> inputs{};
  std::shared_ptr<closure_extras const> extras{};
  per_worker_id builds{};  // handle under which the output is kept
  // Number of workers for the function; 0 means the number of tasks in its job.
  std::uint32_t num_workers = 0;

  bool operator==(assignment const&) const = default;
};

/// `count` assignments, starting at effects::assignments[first]. The first `running` closures start
/// immediately; the rest are prefetched.
struct dispatch {
  stream_id stream{};
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  worker_number worker{};
  std::uint32_t running = 0;

  bool operator==(dispatch const&) const = default;
};

/// Requests that the worker stop a closure. The worker still sends the result.
struct stop_request {
  stream_id stream{};
  closure_id closure{};
  std::uint32_t attempt = 0;

  bool operator==(stop_request const&) const = default;
};

/// Requests that the worker return a closure that it has not started. The worker replies only by
/// returning the closure.
struct retract_request {
  stream_id stream{};
  closure_id closure{};
  std::uint32_t attempt = 0;

  bool operator==(retract_request const&) const = default;
};

struct drop_request {
  stream_id stream{};
  per_worker_id value{};

  bool operator==(drop_request const&) const = default;
};

struct drain_request {
  stream_id stream{};

  bool operator==(drain_request const&) const = default;
};

/// Closes the stream. If `final` is set, the worker should not reconnect automatically.
struct disconnect {
  stream_id stream{};
  muster::status status;
  bool final = false;

  bool operator==(disconnect const&) const = default;
};

/// The result of a closure, for a session with streamed outcomes.
struct outcome {
  session_id session{};
  std::uint64_t token = 0;
  bool ok = true;
  blob value;
  // Set if `ok` is false.
  std::optional<core::failure> failure{};
  closure_id closure{};  // set for a resumable session, which keeps the record

  bool operator==(outcome const&) const = default;
};

enum class notice_kind : std::uint8_t {
  room,
  failed,  ///< first error of the generation; queued closures were cancelled
  drained,
  suspect,  ///< a closure that lost several workers now runs alone
};

struct session_notification {
  session_id session{};
  notice_kind kind{};
  std::uint32_t generation = 0;
  // For `suspect`, `type` is the function, and `attempt` is the number of lost workers.
  core::failure failure{};
  closure_id closure{};

  bool operator==(session_notification const&) const = default;
};

/// Writes a value to disk, reads it from disk, or removes it. Operations on the same value must be
/// executed in order. A values_moved event answers each `write` and `read`.
struct value_move {
  move_kind kind{};
  closure_id closure{};
  blob value;

  bool operator==(value_move const&) const = default;
};

struct session_reply {
  session_id session{};
  bool created = true;  // false if the idempotency key matched an existing session
  std::vector<closure_id> closures;

  bool operator==(session_reply const&) const = default;
};

/// Function numbers, in the same order as the names. After an error, contains only the numbers of
/// the names before the refused name.
struct functions_reply {
  std::vector<function_id> ids;

  bool operator==(functions_reply const&) const = default;
};

struct per_worker_reply {
  per_worker_id id{};

  bool operator==(per_worker_reply const&) const = default;
};

struct resume_reply {
  std::uint32_t generation = 0;
  std::uint32_t failed_generation = 0;
  core::failure failure;

  bool operator==(resume_reply const&) const = default;
};

struct join_reply {
  bool done = false;
  job_state state = job_state::running;
  bool has_error = false;
  core::failure error;
  std::uint32_t generation = 0;

  bool operator==(join_reply const&) const = default;
};

struct value_reply {
  closure_state state{};
  value_state value{};
  blob data;
  core::failure failure;

  bool operator==(value_reply const&) const = default;
};

/// The only reply to a call. Not sent after call_abandoned.
struct reply {
  call_id call{};
  muster::status status;
  std::variant<std::monostate, session_reply, resume_reply, join_reply, value_reply,
               per_worker_reply, functions_reply, program_reply>
      body;

  bool operator==(reply const&) const = default;
};

struct effects {
  std::vector<welcome> welcomes;
  std::vector<dispatch> dispatches;
  std::vector<assignment> assignments;
  std::vector<stop_request> stop_requests;
  std::vector<retract_request> retractions;
  std::vector<drop_request> drop_requests;
  std::vector<drain_request> drain_requests;
  std::vector<disconnect> disconnects;
  std::vector<core::rank_orders> rank_orders;
  std::vector<outcome> outcomes;
  std::vector<session_notification> notices;
  std::vector<session_id> released;
  std::vector<value_move> value_moves;
  // Facts must be durable before replies are sent. Program facts must also be durable before rank
  // orders are sent, except lease renewals.
  std::vector<fact> facts;
  std::vector<programs::fact> program_facts;
  std::vector<reply> replies;
  core::changes changes;

  void clear();
  bool operator==(effects const&) const = default;
};

}  // namespace muster::core
