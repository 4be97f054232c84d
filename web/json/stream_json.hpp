// JSON of worker activity: the columns of GET /api/v1/stream, and Chrome trace events.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/core/api/activity.hpp"
#include "server/core/api/views.hpp"
#include "server/history/workers/worker_durations.hpp"
#include "web/json/members.hpp"

namespace muster::web {

struct stream_answer {
  core::time_point now{}, since{};
  std::uint64_t next = 0;
  bool more = false;
  std::string cluster;  // empty for the main cluster
  std::map<std::uint32_t, core::lane_view> lanes;
  std::map<core::function_id, std::string> functions;
  std::vector<core::span_view> spans;
  std::vector<core::running_view> running;
  std::vector<core::minute_view> minutes;

  void take(core::activity_names names);
};
void members(member_list const& m, stream_answer const& a);

inline constexpr auto stream_history = std::chrono::hours(1);

/// The minutes of one lane, oldest minute first.
struct worker_history {
  std::vector<core::minute_view> minutes;
  core::time_point now{};
  std::vector<history::worker_durations::point> slowness{};
  history::slowness_view slow_now{};
};
void members(member_list const& m, worker_history const& h);

/// Writes trace events in Chrome's JSON format, which Perfetto can open. A task is shown as a
/// thread of its host or cluster. Concurrent spans use additional threads.
class trace_json {
 public:
  /// Limit for each task. Above this limit, spans overlap on the last thread.
  static constexpr std::size_t threads_max = 64;

  struct span {
    std::string_view name;
    std::string_view category = "closure";
    core::time_point started{};
    core::duration lasted{};
    std::string_view state;
    core::closure_id closure{};  // not set for a sum of closures
    core::session_id job{};      // not set for a sum of closures, or a closure of the server
    std::uint32_t count = 1;
    std::uint32_t failed = 0;
    std::string_view error = {};
  };

  trace_json();
  void add(std::string_view process, std::string_view task, span const& s);
  void end();
  static schema::json schema();
  std::string take() { return std::exchange(text_, {}); }
  std::size_t size() const { return text_.size(); }

 private:
  struct track {
    std::uint32_t number = 0;
    core::time_point free{};
  };
  void write_thread_name(std::string_view kind, std::uint32_t process, std::uint32_t thread,
                         std::string_view name);
  std::uint32_t thread_for(std::uint32_t process, std::string_view task, span const& s);
  void next();

  std::string text_;
  bool first_ = true;
  std::map<std::string, std::uint32_t, std::less<>> processes_;
  std::map<std::pair<std::uint32_t, std::string>, std::vector<track>> threads_;
  std::uint32_t last_thread_ = 0;
};

}  // namespace muster::web
