// Log lines, output and progress of running closures. Owned by a hub, which accepts reports only
// from the stream that runs the closure; used only on the engine thread.
//
// Lines are numbered by job, so that a reader of a whole job can count missing lines. A closure's
// newest lines, from all attempts, are stored until its job is removed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::server {

using muster::name;

enum class log_level : std::uint8_t {
  info = 0,
  debug = 1,
  warning = 2,
  error = 3,
  standard_output = 4,
  standard_error = 5,
  dropped = 6,  ///< replaces lines that the worker dropped
};
constexpr auto enum_names(log_level) {
  using enum log_level;
  return enumerators<log_level>(info, "info", debug, "debug", warning, "warning", error, "error",
                                standard_output, "stdout", standard_error, "stderr", dropped,
                                "dropped");
}

struct log_line {
  std::uint64_t seq = 0;  // number within the job, from 1; set by the store
  core::time_point at{};
  core::closure_id closure{};
  std::uint32_t index = 0;
  std::uint32_t attempt = 0;
  log_level level = log_level::info;
  std::string text;
  std::shared_ptr<std::string const> worker;  // "worker:3"
};

struct closure_progress {
  double fraction = 0;  // 0 to 1
  std::string text;
  core::time_point at{};
  std::uint32_t attempt = 0;

  bool operator==(closure_progress const&) const = default;
};

struct log_limits {
  /// Maximum lengths. Longer texts are truncated and marked.
  std::size_t line_bytes_max = std::size_t{8} << 10;
  std::size_t progress_text_bytes_max = 200;
  /// Maximum number of lines per closure. At the limit, the oldest line is dropped and counted.
  std::size_t closure_lines_max = 5'000;
  std::size_t closure_bytes_max = std::size_t{1} << 20;
  /// Maximum size of all closures' lines, including `line_overhead` and `closure_overhead`. At the
  /// limit, the closure that has been silent for longest loses its lines, which are counted. If
  /// more room is needed later, the closure also loses its progress.
  std::size_t bytes_max = std::size_t{128} << 20;
  static constexpr std::size_t line_overhead = 192, closure_overhead = 384;
};

struct log_target {
  core::session_id job{};
  core::closure_id closure{};  // the whole job if not set

  bool operator==(log_target const&) const = default;
};

struct log_page {
  std::vector<log_line> lines;
  std::uint64_t last = 0;
  std::uint64_t dropped = 0;
};

class log_store {
 public:
  /// All wait IDs are greater than `above`.
  explicit log_store(log_limits limits = {}, std::uint64_t above = 0)
      : limits_(limits), last_wait_(above) {}

  /// Adds a line and sets its `seq`. A line that ends with a carriage return is unfinished: the
  /// next line of the same closure, attempt and level replaces the unfinished line, which does not
  /// count as dropped.
  void add(core::session_id job, log_line line);
  void set_progress(core::session_id job, core::closure_id closure, closure_progress p);
  void count_rejected() { ++counts_.strays; }
  /// Removes a job's data. The job's waiters are not called.
  void release(core::session_id job);

  std::optional<closure_progress> progress(core::closure_id closure) const;
  /// Sets the display name of the closure's function. REQUIRES: the closure has no name yet.
  void set_name(core::session_id job, core::closure_id closure, std::string_view name);
  /// Returns an empty string if the closure has no name.
  std::string_view name_of(core::closure_id closure) const;
  std::optional<core::session_id> job_of(core::closure_id closure) const;
  /// Returns the number of the job's newest line, whether or not it was dropped; 0 if there is
  /// none.
  std::uint64_t newest(core::session_id job) const;
  log_page after(log_target of, std::uint64_t seq, std::size_t limit) const;
  log_page newest(log_target of, std::size_t limit) const;

  /// Maximum number of lines between two calls of `take_new_lines`. Further lines are omitted.
  static constexpr std::size_t new_lines_max = 5'000;
  using job_line = std::pair<core::session_id, log_line>;
  /// Returns the finished lines added since the last call, oldest first. The first call returns no
  /// lines.
  std::vector<job_line> take_new_lines();

  /// A waiter also waits for its target's end in the core, which limits the number of waiters.
  enum class wait_id : std::uint64_t {};
  /// Calls `then` once, within `add`, when a line of the target arrives. Returns the ID for
  /// `forget`.
  wait_id wait(log_target of, std::function<void()> then);
  void forget(wait_id id);

  struct counts {
    std::uint64_t lines = 0;
    std::uint64_t dropped = 0;
    std::uint64_t strays = 0;  // reports about closures that the stream did not run
    std::size_t bytes = 0;
    std::size_t closures = 0;
    bool operator==(counts const&) const = default;
  };
  counts count() const;
  log_limits const& limits() const { return limits_; }
  void limit_bytes(std::size_t bytes_max);

 private:
  struct job_log {
    std::map<std::uint64_t, log_line> lines;
    std::uint64_t newest = 0;
    std::unordered_set<core::closure_id> closures;
    std::uint64_t dropped = 0;
  };
  struct closure_log {
    core::session_id job{};
    std::string name;
    std::deque<std::uint64_t> lines;
    std::size_t bytes = 0;
    std::uint64_t dropped = 0;
    // Number of the line that the next line of this level replaces.
    std::map<log_level, std::uint64_t> unfinished;
    std::optional<closure_progress> progress;
    std::list<core::closure_id>::iterator age;
  };
  struct waiter {
    wait_id id{};
    log_target of;
    std::function<void()> then;
  };

  closure_log& touch(core::session_id job, core::closure_id closure);
  void drop_oldest(closure_log& c);
  void drop_unfinished(closure_log& c, log_line const& next);
  void make_room();
  void erase(core::closure_id closure);
  void wake(log_target of);

  std::size_t overhead(closure_log const& c) const {
    return log_limits::closure_overhead + c.name.size();
  }

  log_limits limits_;
  std::map<core::session_id, job_log> jobs_;
  std::unordered_map<core::closure_id, closure_log> closures_;
  std::list<core::closure_id> ages_;  // ordered by last report, oldest first
  std::unordered_map<core::session_id, std::vector<waiter>> waiters_;
  counts counts_;
  std::uint64_t last_wait_;
  bool is_followed_ = false;
  std::vector<std::pair<core::session_id, std::uint64_t>> new_lines_;
};

}  // namespace muster::server
