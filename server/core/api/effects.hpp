// What comes out of a step: what the shells are to send, tell and answer. Plain data; valid until
// the next step.
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
  /// Positions in worker_attached::held, rising, that go on under this stream; the rest are void.
  std::vector<std::uint32_t> kept{};
  duration reconnect_grace{};
  std::uint32_t nested_max = 0;  // so many of what it holds may wait for values at one time
  /// Positions in programs_offer::held of ranks that go on, or whose end is taken; none: no offer.
  std::optional<std::vector<std::uint32_t>> kept_ranks{};

  bool operator==(welcome const&) const = default;
};

struct assignment {
  closure_id closure{};
  std::uint32_t attempt = 0;
  function_id function{};
  blob args;
  std::shared_ptr<std::vector<blob> const> inputs{};  // values for the gaps, or null
  std::shared_ptr<closure_extras const> extras{};     // with inputs or per-worker values
  per_worker_id builds{};         // keep the output under this handle instead of sending it
  std::uint32_t num_workers = 0;  // what the function is told; 0: coordinator::tasks_of its job

  bool operator==(assignment const&) const = default;
};

/// `count` assignments from `first` on in effects::assignments, all for one stream. The first
/// `running` of them run at once, the others are prefetched.
struct dispatch {
  stream_id stream{};
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  worker_number worker{};
  std::uint32_t running = 0;

  bool operator==(dispatch const&) const = default;
};

/// Ask the worker to stop this closure; it still has to answer.
struct stop_request {
  stream_id stream{};
  closure_id closure{};
  std::uint32_t attempt = 0;

  bool operator==(stop_request const&) const = default;
};

/// Ask the worker to give this closure back unless it has started it. No answer but that.
struct retract_request {
  stream_id stream{};
  closure_id closure{};
  std::uint32_t attempt = 0;

  bool operator==(retract_request const&) const = default;
};

/// The worker may forget its component.
struct drop_request {
  stream_id stream{};
  per_worker_id value{};

  bool operator==(drop_request const&) const = default;
};

struct drain_request {
  stream_id stream{};

  bool operator==(drain_request const&) const = default;
};

/// End the stream with this status. `final`: the worker should not come back by itself.
struct disconnect {
  stream_id stream{};
  muster::status status;
  bool final = false;

  bool operator==(disconnect const&) const = default;
};

/// The end of one closure of a session that takes its outcomes as they come.
struct outcome {
  session_id session{};
  std::uint64_t token = 0;
  bool ok = true;
  blob value;
  std::optional<core::failure> failure{};  // unless ok; most have none to carry or to clear
  closure_id closure{};                    // of a resumable session: the record that stays

  bool operator==(outcome const&) const = default;
};

enum class notice_kind : std::uint8_t {
  room,     ///< the queue was full and has room again
  failed,   ///< first error of this generation; everything queued was cancelled
  drained,  ///< nothing of this session is queued or running any more
  suspect,  ///< a closure has lost worker after worker; from now on it runs alone
};

struct session_notice {
  session_id session{};
  notice_kind kind{};
  std::uint32_t generation = 0;  // that failed or drained
  core::failure failure{};  // failed; suspect: type is its function, attempt how many were lost
  closure_id closure{};     // suspect

  bool operator==(session_notice const&) const = default;
};

/// Move a value out of memory, back, or off the disk. In order: what is asked of one value later is
/// done later. `write` and `read` are each answered by one values_moved.
struct value_move {
  move_kind kind{};
  closure_id closure{};
  blob value;  // write

  bool operator==(value_move const&) const = default;
};

struct session_reply {
  session_id session{};
  bool created = true;  // false: found by its idempotency key
  std::vector<closure_id> closures;

  bool operator==(session_reply const&) const = default;
};

/// In the order of the names; after an error those before the one that could not be taken.
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
  std::uint32_t failed_generation = 0;  // the newest that failed; 0: none
  core::failure failure;

  bool operator==(resume_reply const&) const = default;
};

struct join_reply {
  bool done = false;
  job_state state = job_state::running;
  bool has_error = false;
  core::failure error;
  std::uint32_t generation = 0;  // of a stream: the one that goes on

  bool operator==(join_reply const&) const = default;
};

struct value_reply {
  closure_state state{};
  value_state value{};
  blob data;              // when succeeded
  core::failure failure;  // otherwise

  bool operator==(value_reply const&) const = default;
};

/// Exactly one for each event that carries a call, unless call_gone came first.
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
  std::vector<session_notice> notices;
  std::vector<session_id> released;  // sessions that were forgotten, with all they had
  std::vector<value_move> value_moves;
  // To be written down before anybody hears of the replies, and of programs before orders about
  // ranks leave, but for leases.
  std::vector<fact> facts;
  std::vector<programs::fact> program_facts;
  std::vector<reply> replies;
  core::changes changes;  // for readers: nobody waits for them

  void clear();
  bool operator==(effects const&) const = default;
};

}  // namespace muster::core
