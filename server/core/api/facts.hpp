// Facts about durable jobs and sessions that a restart needs: the changes of each step, written to
// the journal, and the same data when it is restored. A fact replaces the previous fact about the
// same thing. Here "job" means a job or a session.
//
// Workers, running closures and waiting calls are not stored. They are learned from workers and
// clients that reconnect.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/core/api/model.hpp"
#include "server/core/api/views.hpp"

namespace muster::core {

/// The stored part of a session; the core's sessions have it as a member.
struct job_fact {
  session_id id{};
  session_spec spec{};
  job_state state = job_state::running;
  bool sealed = false;
  bool stopping = false;  ///< an error or a cancel is being processed
  bool user_cancelled = false;
  bool closed = false;  ///< a session's client has left; removed when no closure of it runs
  std::uint32_t generation = 1;
  std::optional<failure> first_error{};  ///< of this generation
  /// Of the newest failed generation none of whose closures runs any longer.
  std::optional<failure> raised{};
  std::uint32_t raised_generation = 0;
  std::string client{};  ///< address of the client that opened the session or resumed it last
  time_point created{};
  time_point finished{};

  bool operator==(job_fact const&) const = default;
};

struct accepted_closure {
  closure_id id{};
  std::uint32_t function = 0;  ///< index into the fact's function names
  blob args{};
  std::shared_ptr<closure_extras const> extras{};  ///< inputs by id; null: none
  std::uint64_t token = 0;
  bool forgotten = false;  ///< of a restored closure: see closure_gone
  bool own_error = false;

  bool operator==(accepted_closure const& o) const {
    return id == o.id && function == o.function && args == o.args && !extras == !o.extras &&
           (!extras || *extras == *o.extras) && token == o.token && forgotten == o.forgotten &&
           own_error == o.own_error;
  }
};

/// The closures of one request, in schedule order.
struct accepted_fact {
  session_id job{};
  std::uint32_t first = 0;  ///< position of the first in its job
  time_point created{};
  std::vector<std::string> functions{};
  std::vector<accepted_closure> closures{};
  /// Callables of the functions, by the same indices. A function without a named callable has an
  /// empty one. Empty if none has.
  std::vector<callable_name> callables{};

  bool operator==(accepted_fact const&) const = default;
};

/// The closure has ended, has run for a while (see `newest`), or was requeued or `released`.
struct closure_fact {
  session_id job{};
  std::uint32_t order = 0;
  closure_state state = closure_state::queued;
  blob value{};
  std::optional<release_reason> dropped{};  ///< why the value was dropped
  std::optional<core::failure> failure{};
  std::uint32_t attempt = 0;
  std::uint32_t worker_failures = 0;
  std::uint32_t retries = 0;
  std::uint32_t workers_lost = 0;
  std::uint32_t processes_ended = 0;
  bool released = false;   ///< of a session: its client no longer needs the value
  bool exclusive = false;  ///< it runs alone on its worker
  time_point started{};
  time_point finished{};
  std::vector<attempt_view> lost{};      ///< oldest first
  std::optional<attempt_view> newest{};  ///< where the last attempt ran

  bool operator==(closure_fact const&) const = default;
};

/// A session's client has released a closure; others of its request remain.
struct closure_gone {
  session_id job{};
  std::uint32_t order = 0;

  bool operator==(closure_gone const&) const = default;
};

/// The last closure of the request was released.
struct request_gone {
  session_id job{};
  std::uint32_t first = 0;
  std::uint32_t size = 0;

  bool operator==(request_gone const&) const = default;
};

/// A value that each worker builds for itself.
struct per_worker_fact {
  session_id job{};  ///< none: it exists until it is deleted
  per_worker_id id{};
  std::string name{};
  std::string function{};
  blob args{};
  std::uint64_t token = 0;
  bool released = false;  ///< removed when no closure uses it any longer
  time_point created{};
  std::string submitted_by{};

  bool operator==(per_worker_fact const&) const = default;
};

struct per_worker_gone {
  session_id job{};
  per_worker_id id{};

  bool operator==(per_worker_gone const&) const = default;
};

/// The job was forgotten, with all facts about it.
struct job_gone {
  session_id job{};

  bool operator==(job_gone const&) const = default;
};

using fact = std::variant<job_fact, accepted_fact, closure_fact, closure_gone, request_gone,
                          per_worker_fact, per_worker_gone, job_gone>;

/// Returns the job that a fact is about; none: a per-worker value without an owner.
inline session_id session_of(fact const& f) {
  return std::visit(
      [](auto const& one) {
        if constexpr (std::is_same_v<decltype(one), job_fact const&>)
          return one.id;
        else
          return one.job;
      },
      f);
}

/// All stored facts about a job. Without an id: the per-worker values without an owner.
struct restored_job {
  job_fact job;
  std::vector<per_worker_fact> per_worker;
  std::vector<accepted_fact> accepted;
  std::vector<closure_fact> closures;  ///< at most one for each position
};

/// An event, the first of a coordinator: restores jobs of an earlier process with their ids, which
/// are not in use, in any order. Deadlines still count from when they were set. Work that cannot
/// continue, because something that it needs is lost, fails with that reason.
struct restore_jobs {
  std::vector<restored_job> jobs;  // consumed
};

}  // namespace muster::core
