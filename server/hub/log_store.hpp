// What running closures logged and printed, and how far they say they are. Lives on the engine
// thread inside the hub, which lets only the stream that holds a closure add to it.
//
// Lines are numbered in the order of their arrival in their job, so a reader of all of them sees
// how many it has missed. The newest lines of a closure are kept, over all its attempts, until its
// job is forgotten.
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
  dropped = 6,  ///< stands for lines that the worker dropped
};
constexpr auto enum_names(log_level) {
  using enum log_level;
  return enumerators<log_level>(info, "info", debug, "debug", warning, "warning", error, "error",
                                standard_output, "stdout", standard_error, "stderr", dropped,
                                "dropped");
}

struct log_line {
  std::uint64_t seq = 0;  // in its job, from 1; given by the store
  core::time_point at{};
  core::closure_id closure{};
  std::uint32_t index = 0;  // of the closure in its job
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
  /// A longer line, or text of a progress, is cut and says so.
  std::size_t line_bytes_max = std::size_t{8} << 10;
  std::size_t progress_text_bytes_max = 200;
  /// Of one closure. Full: its oldest line is dropped and counted.
  std::size_t closure_lines_max = 5'000;
  std::size_t closure_bytes_max = std::size_t{1} << 20;
  /// Of all closures, with `line_overhead` and `closure_overhead`. Full: the closure that was
  /// silent for longest loses its lines, which are counted, then its progress.
  std::size_t bytes_max = std::size_t{128} << 20;
  static constexpr std::size_t line_overhead = 192, closure_overhead = 384;
};

/// The lines of a closure, or of all closures of a job.
struct log_target {
  core::session_id job{};
  core::closure_id closure{};  // none: the whole job

  bool operator==(log_target const&) const = default;
};

struct log_page {
  std::vector<log_line> lines;
  std::uint64_t last = 0;     // number of the newest line there is; 0: none yet
  std::uint64_t dropped = 0;  // lines of the target that are not kept any more
};

class log_store {
 public:
  /// `above`: waits have greater numbers.
  explicit log_store(log_limits limits = {}, std::uint64_t above = 0)
      : limits_(limits), last_wait_(above) {}

  /// Takes a line of a closure of this job; `seq` is set here. A line that ends with a carriage
  /// return has not ended: the next line of the closure's attempt and level replaces it, and it
  /// does not count as dropped.
  void add(core::session_id job, log_line line);
  /// Keeps the newest progress of a closure.
  void set_progress(core::session_id job, core::closure_id closure, closure_progress p);
  /// Somebody reported of a closure that is not his.
  void count_stray() { ++counts_.strays; }
  /// The job is forgotten and everything of it with it. Those who wait are not called.
  void release(core::session_id job);

  std::optional<closure_progress> progress(core::closure_id closure) const;
  /// What the closure calls, as people know it. REQUIRES: it has no name yet.
  void set_name(core::session_id job, core::closure_id closure, std::string_view name);
  /// Empty where it has none.
  std::string_view name_of(core::closure_id closure) const;
  /// The job of a closure that has said something.
  std::optional<core::session_id> job_of(core::closure_id closure) const;
  /// The number of the job's newest line, kept or not; 0: none yet.
  std::uint64_t newest(core::session_id job) const;
  /// Lines with a greater number, oldest first.
  log_page after(log_target of, std::uint64_t seq, std::size_t limit) const;
  /// The newest ones, oldest first.
  log_page newest(log_target of, std::size_t limit) const;

  /// Lines that a look at the new ones finds, of those that are still kept: `came_max` of them,
  /// more are passed over.
  static constexpr std::size_t came_max = 5'000;
  using job_line = std::pair<core::session_id, log_line>;
  /// Those that have come since the last call and have ended, oldest first. None the first time.
  std::vector<job_line> take_new();

  /// Calls `then` once, from inside `add`, when a line of the target arrives. Whoever waits also
  /// waits for the end of the target in the core, which bounds the number of waiters and the time.
  enum class wait_id : std::uint64_t {};
  /// Calls `then` once, when there are more lines; the number is for `forget`.
  wait_id wait(log_target of, std::function<void()> then);
  /// `then` is not called any more.
  void forget(wait_id id);

  struct counts {
    std::uint64_t lines = 0;    // since the start
    std::uint64_t dropped = 0;  // of those, to make room
    std::uint64_t strays = 0;   // of closures that the stream did not hold
    std::size_t bytes = 0;      // now, with overhead
    std::size_t closures = 0;   // now
    bool operator==(counts const&) const = default;
  };
  counts count() const;
  log_limits const& limits() const { return limits_; }
  /// From now on `bytes_max` is this; the oldest make room at once.
  void limit_bytes(std::size_t bytes_max);

 private:
  struct job_log {
    std::map<std::uint64_t, log_line> lines;
    std::uint64_t newest = 0;                       // number of the line that came last
    std::unordered_set<core::closure_id> closures;  // that are in closures_
    std::uint64_t dropped = 0;
  };
  struct closure_log {
    core::session_id job{};
    std::string name;
    std::deque<std::uint64_t> lines;  // their numbers
    std::size_t bytes = 0;            // of the lines, with overhead
    std::uint64_t dropped = 0;
    std::map<log_level, std::uint64_t> unfinished;  // number of the line that the next one replaces
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
  std::list<core::closure_id> ages_;  // silent for longest first
  std::unordered_map<core::session_id, std::vector<waiter>> waiters_;
  counts counts_;
  std::uint64_t last_wait_;
  bool looked_ = false;                                           // somebody takes what is new
  std::vector<std::pair<core::session_id, std::uint64_t>> came_;  // by number
};

}  // namespace muster::server
