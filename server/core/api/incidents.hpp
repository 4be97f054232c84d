// Events that interest operators and that no other change describes. Listeners decide what to
// report and how.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"
#include "server/core/api/vocabulary.hpp"

namespace muster::core {

struct stalled_closure {
  closure_id closure{};
  std::string function;
  std::string worker;
  time_point since{};

  bool operator==(stalled_closure const&) const = default;
};

namespace incidents {

/// A worker disconnected. Its closures are kept for a limited time.
struct worker_away {
  std::string task;
  std::string why;
  std::uint32_t running = 0;

  bool operator==(worker_away const&) const = default;
};

/// The worker's first closure is delayed because of the worker's index.
struct worker_start_delayed {
  std::string task;
  duration delay{};

  bool operator==(worker_start_delayed const&) const = default;
};

struct worker_returned {
  std::string task;
  std::uint64_t kept = 0;
  std::uint64_t had = 0;

  bool operator==(worker_returned const&) const = default;
};

struct worker_lost {
  std::string task;
  std::string why;

  bool operator==(worker_lost const&) const = default;
};

/// A worker has been lost or deregistered for longer than recovery_timeout.
struct worker_given_up {
  std::string task;
  bool lost = true;  ///< false if the worker deregistered
  duration away{};
  std::string why;
  std::uint64_t waited = 0;  ///< closures that only this worker can run

  bool operator==(worker_given_up const&) const = default;
};

struct task_cordoned {
  std::string task;
  bool on = true;

  bool operator==(task_cordoned const&) const = default;
};

struct dependency_reported {
  std::string name;
  std::string by;
  std::uint32_t times = 0;
  std::uint32_t limit = 0;
  duration window{};
  std::string message;

  bool operator==(dependency_reported const&) const = default;
};

struct state_lost {
  std::string task;
  std::string why;
  std::uint64_t sessions = 0;

  bool operator==(state_lost const&) const = default;
};

struct closure_exclusive {
  closure_id closure{};
  std::string function;
  std::uint32_t workers_lost = 0;
  std::string worker;

  bool operator==(closure_exclusive const&) const = default;
};

/// The builder of a per-worker value lost too many workers in a row, so its next build is delayed.
struct builder_quarantined {
  per_worker_id value{};
  std::string name;
  std::uint32_t workers_lost = 0;
  std::string worker;
  std::string why;
  duration again_in{};
  bool fails = false;  ///< closures that use the component fail until it is built

  bool operator==(builder_quarantined const&) const = default;
};

struct no_progress {
  duration quiet{};
  std::uint64_t running = 0;
  std::uint64_t queued = 0;
  std::vector<stalled_closure> oldest;

  bool operator==(no_progress const&) const = default;
};

/// A value could not be written to disk. Some failed writes are not reported.
struct spill_failed {
  std::string error;

  bool operator==(spill_failed const&) const = default;
};

struct value_unreadable {
  closure_id closure{};
  std::string error;

  bool operator==(value_unreadable const&) const = default;
};

struct closure_runs_again {
  closure_id closure{};
  closure_id by{};
  release_reason why{};
  duration ago{};

  bool operator==(closure_runs_again const&) const = default;
};

/// A job has finished in state FAILED, or an error has ended a generation of a client's session.
struct session_failed {
  session_id session{};
  bool job = true;
  std::string name;
  std::string type;
  std::string message;
  std::uint64_t failed = 0;
  std::uint64_t closures = 0;

  bool operator==(session_failed const&) const = default;
};

struct program_failed {
  program_id program{};
  std::string name;
  std::string cause;

  bool operator==(program_failed const&) const = default;
};

}  // namespace incidents

using incident =
    std::variant<incidents::worker_start_delayed, incidents::worker_away,
                 incidents::worker_returned, incidents::worker_lost, incidents::worker_given_up,
                 incidents::task_cordoned, incidents::dependency_reported, incidents::state_lost,
                 incidents::closure_exclusive, incidents::builder_quarantined,
                 incidents::no_progress, incidents::spill_failed, incidents::value_unreadable,
                 incidents::closure_runs_again, incidents::session_failed,
                 incidents::program_failed>;

}  // namespace muster::core
