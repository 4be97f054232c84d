// Execution times of each job, in total and by function and worker. Times are counted in buckets,
// so that memory does not grow with the number of executions.
//
// An execution is an attempt that a worker has answered. A closure restored from an earlier server
// process counts as one execution. Owned by a cluster's history; used only on the engine thread.
// Limits: the constants in this class, and one entry per job of the core.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/history/metrics/histogram.hpp"
#include "server/history/names.hpp"

namespace muster::history {

class run_times {
 public:
  struct cell {
    std::uint16_t bucket = 0;
    std::uint64_t count = 0, failed = 0;
    duration least{}, most{};
  };

  /// Returns the object's growth in bytes.
  std::size_t add(duration d, bool failed);
  std::vector<cell> const& cells() const { return cells_; }  // shortest first
  std::uint64_t ran() const { return ran_; }
  std::uint64_t failed() const { return failed_; }
  duration busy() const { return busy_; }
  duration longest() const { return longest_; }
  /// Returns the percentile by nearest rank, interpolated within its bucket; 0 without durations.
  /// `part` is between 0 and 1.
  duration percentile(double part) const;

 private:
  std::vector<cell> cells_;
  std::uint64_t ran_ = 0, failed_ = 0;
  duration busy_{}, longest_{};
};

struct job_times_view {
  struct row {
    std::string name;  // empty for executions beyond the limits or without a known worker
    run_times times;
  };
  run_times all;
  std::vector<row> functions, workers;  // busiest first
  bool detailed = true;                 // false if the tables were dropped to free memory
};

class job_times {
 public:
  /// Limits per job. Further functions share one row, and so do further workers.
  static constexpr std::size_t functions_max = 64, workers_max = 1'024;
  /// Maximum size of all tables. At the limit, the tables of the oldest jobs are dropped, but the
  /// jobs' totals are kept.
  static constexpr std::size_t bytes_max = std::size_t{32} << 20;
  /// Maximum number of worker names. Executions on further workers have no worker name.
  static constexpr std::size_t tasks_max = 65'536;

  /// @pre `named` has already folded the same changes.
  void fold(changes const& c, names const& named);
  void for_each_function(std::function<void(function_id)> const& use) const;
  /// Returns nothing if no closure of the job was executed.
  std::optional<job_times_view> find(session_id job, names const& named) const;
  std::size_t bytes() const { return bytes_; }

 private:
  using rows = std::unordered_map<std::uint32_t, run_times>;
  static constexpr std::uint32_t others = ~0u;

  struct job {
    run_times all;
    rows functions, workers;  // indexed by function number or task number
    std::size_t bytes = 0;
    bool detailed = true;
  };

  void add(session_id of, function_id function, std::uint32_t task, duration d, bool failed);
  static std::size_t add(rows& to, std::uint32_t which, std::size_t rows_max, duration d,
                         bool failed);
  void learn(worker_changed const& w);
  std::uint32_t task_of(worker_number w) const {
    return raw(w) < workers_.size() ? workers_[raw(w)] : others;
  }
  void make_room();

  std::map<session_id, job> jobs_;
  std::size_t bytes_ = 0;
  std::vector<std::string> tasks_;
  std::unordered_map<std::string, std::uint32_t> task_numbers_;
  std::vector<std::uint32_t> workers_;  // task numbers, by the core's worker number
};

}  // namespace muster::history
