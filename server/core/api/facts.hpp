// Durable state of jobs and sessions, for the journal and for a restart. A fact replaces the
// previous fact about the same object. In this file, "job" also means a session.
//
// Reconnecting workers and clients report workers, running closures and waiting calls themselves.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/core/api/model.hpp"
#include "server/core/api/views.hpp"

namespace muster::core {

struct job_fact {
  session_id id{};
  session_spec spec{};
  job_state state = job_state::running;
  bool sealed = false;
  bool stopping = false;
  bool user_cancelled = false;
  bool closed = false;  ///< whether the client has left; if so, a drained session is removed
  std::uint32_t generation = 1;
  std::optional<failure> first_error{};
  /// Error of the newest failed generation that has drained.
  std::optional<failure> raised{};
  std::uint32_t raised_generation = 0;
  std::string client{};
  time_point created{};
  time_point finished{};

  bool operator==(job_fact const&) const = default;
};

struct accepted_closure {
  closure_id id{};
  std::uint32_t function = 0;  ///< index into accepted_fact::functions
  blob args{};
  std::shared_ptr<closure_extras const> extras{};  ///< inputs refer to closures by id; may be null
  std::uint64_t token = 0;
  bool forgotten = false;  ///< set only in restored facts; see closure_removed
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
  std::uint32_t first = 0;
  time_point created{};
  std::vector<std::string> functions{};
  std::vector<accepted_closure> closures{};
  /// Callables, by function index; an entry can be empty. The list is empty if no function has a
  /// callable.
  std::vector<callable_name> callables{};

  bool operator==(accepted_fact const&) const = default;
};

/// A closure has finished, has run for a while (see `newest`), or was requeued or released.
struct closure_fact {
  session_id job{};
  std::uint32_t order = 0;
  closure_state state = closure_state::queued;
  blob value{};
  std::optional<release_reason> dropped{};
  std::optional<core::failure> failure{};
  std::uint32_t attempt = 0;
  std::uint32_t worker_failures = 0;
  std::uint32_t retries = 0;
  std::uint32_t workers_lost = 0;
  std::uint32_t processes_ended = 0;
  bool released = false;
  bool exclusive = false;
  time_point started{};
  time_point finished{};
  std::vector<attempt_view> lost{};  ///< oldest first
  std::optional<attempt_view> newest{};

  bool operator==(closure_fact const&) const = default;
};

/// A session's client released a closure, while other closures of the request remain.
struct closure_removed {
  session_id job{};
  std::uint32_t order = 0;

  bool operator==(closure_removed const&) const = default;
};

struct request_removed {
  session_id job{};
  std::uint32_t first = 0;
  std::uint32_t size = 0;

  bool operator==(request_removed const&) const = default;
};

struct per_worker_fact {
  session_id job{};  ///< not set if the value is kept until it is explicitly deleted
  per_worker_id id{};
  std::string name{};
  std::string function{};
  blob args{};
  std::uint64_t token = 0;
  bool released = false;  ///< the value is removed when it is no longer used
  time_point created{};
  std::string submitted_by{};

  bool operator==(per_worker_fact const&) const = default;
};

struct per_worker_removed {
  session_id job{};
  per_worker_id id{};

  bool operator==(per_worker_removed const&) const = default;
};

struct job_removed {
  session_id job{};

  bool operator==(job_removed const&) const = default;
};

using fact = std::variant<job_fact, accepted_fact, closure_fact, closure_removed, request_removed,
                          per_worker_fact, per_worker_removed, job_removed>;

/// Returns the owner of a fact, or nothing for a per-worker value without an owner.
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

/// All facts about a job. If the id is not set, contains the per-worker values without an owner.
struct restored_job {
  job_fact job;
  std::vector<per_worker_fact> per_worker;
  std::vector<accepted_fact> accepted;
  std::vector<closure_fact> closures;  ///< at most one per position
};

/// The first event of a coordinator. Restores jobs, in any order, under their ids, which must be
/// unused. Deadlines count from the time when they were set. Work that needs lost data fails.
struct restore_jobs {
  std::vector<restored_job> jobs;  // consumed by the step
};

}  // namespace muster::core
