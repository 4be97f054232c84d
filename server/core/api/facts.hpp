// The state of durable jobs and sessions that a restart needs: changes of each step for the
// journal, and the same data for restoring. A fact replaces the previous one about the same thing.
// "Job" also means a session here.
//
// Workers, running closures and waiting calls are learned from reconnecting workers and clients.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/core/api/model.hpp"
#include "server/core/api/views.hpp"

namespace muster::core {

/// The stored part of a session, also a member of the core's sessions.
struct job_fact {
  session_id id{};
  session_spec spec{};
  job_state state = job_state::running;
  bool sealed = false;
  bool stopping = false;  ///< an error or a cancel is being processed
  bool user_cancelled = false;
  bool closed = false;  ///< the client has left; removed when drained
  std::uint32_t generation = 1;
  std::optional<failure> first_error{};  ///< of this generation
  /// Of the newest failed generation that has drained.
  std::optional<failure> raised{};
  std::uint32_t raised_generation = 0;
  std::string client{};  ///< the client's last address
  time_point created{};
  time_point finished{};

  bool operator==(job_fact const&) const = default;
};

struct accepted_closure {
  closure_id id{};
  std::uint32_t function = 0;  ///< index into the fact's functions
  blob args{};
  std::shared_ptr<closure_extras const> extras{};  ///< inputs by id; null: none
  std::uint64_t token = 0;
  bool forgotten = false;  ///< restored: see closure_removed
  bool own_error = false;

  bool operator==(accepted_closure const& o) const {
    return id == o.id && function == o.function && args == o.args && !extras == !o.extras &&
           (!extras || *extras == *o.extras) && token == o.token && forgotten == o.forgotten &&
           own_error == o.own_error;
  }
};

/// One request's closures, in schedule order.
struct accepted_fact {
  session_id job{};
  std::uint32_t first = 0;
  time_point created{};
  std::vector<std::string> functions{};
  std::vector<accepted_closure> closures{};
  /// Callables, by index of the function; an empty one if it has no name. Empty if none has.
  std::vector<callable_name> callables{};

  bool operator==(accepted_fact const&) const = default;
};

/// The closure has ended, has run for a while (see `newest`), or was requeued or released.
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
  bool released = false;   ///< by a session's client
  bool exclusive = false;  ///< it runs alone on its worker
  time_point started{};
  time_point finished{};
  std::vector<attempt_view> lost{};      ///< oldest first
  std::optional<attempt_view> newest{};  ///< where the last attempt ran

  bool operator==(closure_fact const&) const = default;
};

/// A closure that its session's client has released, while others of its request remain.
struct closure_removed {
  session_id job{};
  std::uint32_t order = 0;

  bool operator==(closure_removed const&) const = default;
};

/// A request whose last closure was released.
struct request_removed {
  session_id job{};
  std::uint32_t first = 0;
  std::uint32_t size = 0;

  bool operator==(request_removed const&) const = default;
};

/// A value that each worker builds for itself.
struct per_worker_fact {
  session_id job{};  ///< none: exists until deleted
  per_worker_id id{};
  std::string name{};
  std::string function{};
  blob args{};
  std::uint64_t token = 0;
  bool released = false;  ///< removed when unused
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

/// Returns the owner; none: a per-worker value without an owner.
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

/// All facts about a job. Without id: the per-worker values without an owner.
struct restored_job {
  job_fact job;
  std::vector<per_worker_fact> per_worker;
  std::vector<accepted_fact> accepted;
  std::vector<closure_fact> closures;  ///< at most one per position
};

/// The first event of a coordinator: restores jobs with their ids, which must be unused, in any
/// order. Deadlines count from when they were set. Work that needs something lost fails with that
/// reason.
struct restore_jobs {
  std::vector<restored_job> jobs;  // consumed
};

}  // namespace muster::core
