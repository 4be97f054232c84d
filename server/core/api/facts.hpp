// What a restart must know of durable jobs and sessions: what each step changed, as data to be
// written down, and the same data to begin again with. A fact replaces what was said of the same
// thing before. "Job" is either here.
//
// Not among them, since it follows from those who come back: workers, what runs where, who waits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/core/api/model.hpp"
#include "server/core/api/views.hpp"

namespace muster::core {

/// A session of the core has this as it is.
struct job_fact {
  session_id id{};
  session_spec spec{};
  job_state state = job_state::running;
  bool sealed = false;
  bool stopping = false;  ///< an error or a cancel is being drained
  bool user_cancelled = false;
  bool closed = false;  ///< a session's client is gone; erased when drained
  std::uint32_t generation = 1;
  std::optional<failure> first_error{};  ///< of this generation
  std::optional<failure> raised{};       ///< of the newest that failed and has drained
  std::uint32_t raised_generation = 0;
  std::string client{};  ///< who opened a session, or came back to it last
  time_point created{};
  time_point finished{};

  bool operator==(job_fact const&) const = default;
};

struct accepted_closure {
  closure_id id{};
  std::uint32_t function = 0;  ///< position in the fact's names
  blob args{};
  std::shared_ptr<closure_extras const> extras{};  ///< inputs by id; null: none
  std::uint64_t token = 0;
  bool forgotten = false;  ///< of one that is restored: see closure_gone
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
  std::uint32_t first = 0;  ///< position of the first in its job
  time_point created{};
  std::vector<std::string> functions{};
  std::vector<accepted_closure> closures{};
  /// What the functions call, by their positions; those that call nothing that has a name have an
  /// empty one. Empty when all have.
  std::vector<callable_name> callables{};

  bool operator==(accepted_fact const&) const = default;
};

/// It has ended, has run for a while (`newest` says where), or is queued, back from a worker or
/// `released`.
struct closure_fact {
  session_id job{};
  std::uint32_t order = 0;
  closure_state state = closure_state::queued;
  blob value{};
  std::optional<release_reason> dropped{};  ///< why there is no value any more
  std::optional<core::failure> failure{};
  std::uint32_t attempt = 0;
  std::uint32_t worker_failures = 0;
  std::uint32_t retries = 0;
  std::uint32_t workers_lost = 0;
  std::uint32_t processes_ended = 0;
  bool released = false;   ///< of a session: nobody wants its value
  bool exclusive = false;  ///< it runs alone on its worker
  time_point started{};
  time_point finished{};
  std::vector<attempt_view> lost{};      ///< oldest first
  std::optional<attempt_view> newest{};  ///< where the last attempt ran

  bool operator==(closure_fact const&) const = default;
};

/// A session's client has released it; others of its request are still there.
struct closure_gone {
  session_id job{};
  std::uint32_t order = 0;

  bool operator==(closure_gone const&) const = default;
};

/// The last of its closures was released.
struct request_gone {
  session_id job{};
  std::uint32_t first = 0;
  std::uint32_t size = 0;

  bool operator==(request_gone const&) const = default;
};

/// A value that each worker builds for itself.
struct per_worker_fact {
  session_id job{};  ///< none: it lives until it is deleted
  per_worker_id id{};
  std::string name{};
  std::string function{};
  blob args{};
  std::uint64_t token = 0;
  bool released = false;  ///< goes when nobody uses it any more
  time_point created{};
  std::string submitted_by{};

  bool operator==(per_worker_fact const&) const = default;
};

struct per_worker_gone {
  session_id job{};
  per_worker_id id{};

  bool operator==(per_worker_gone const&) const = default;
};

/// It was forgotten, with all that was said of it.
struct job_gone {
  session_id job{};

  bool operator==(job_gone const&) const = default;
};

using fact = std::variant<job_fact, accepted_fact, closure_fact, closure_gone, request_gone,
                          per_worker_fact, per_worker_gone, job_gone>;

/// Whose it is; none: a value of nobody.
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

/// All that is known of a job. Without an id: the per-worker values that are of none.
struct restored_job {
  job_fact job;
  std::vector<per_worker_fact> per_worker;
  std::vector<accepted_fact> accepted;
  std::vector<closure_fact> closures;  ///< one of a position at most
};

/// An event, the first of a coordinator: these jobs are known from before, with their ids, which
/// nothing else has, in any order. Deadlines go on from when they were set. What cannot be taken up
/// again, since something that it needs is gone, fails and says so.
struct restore_jobs {
  std::vector<restored_job> jobs;  // consumed
};

}  // namespace muster::core
