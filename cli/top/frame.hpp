// A snapshot of a server, as `muster top` shows it. The rendering functions are pure.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "cli/rest.hpp"

namespace muster::cli::top {

using steady = std::chrono::steady_clock;

/// Limited to `tasks_max` tasks, `programs_max` programs, and closures of `jobs_examined` jobs.
struct frame {
  json::value version, overview;
  json::array tasks;
  json::array programs;
  json::array slowest;  // running closures, earliest start first
  std::size_t alerts = 0;
  steady::time_point at;
};
constexpr std::size_t tasks_max = 2'000, jobs_examined = 8, slowest_max = 20, programs_max = 200;

frame look(rest& server, std::string const& cluster);
json::object to_json(frame const& f);

enum class order { task, running, rate, failed };
order after(order o);

/// Rates between frames. They are stored by incarnation, so that the rate of a replaced task starts
/// again.
class rates {
 public:
  /// Returns the closures that a task finishes per second; negative if unknown.
  double of(json::value const& task) const;
  void take(frame const& f);

 private:
  struct row {
    std::int64_t finished = 0;
    double per_second = -1;
  };
  std::map<std::string, row> rows_;
  steady::time_point at_{};
};

struct view_options {
  order sorted = order::task;
  std::size_t width = std::string::npos, height = std::string::npos;
  std::string url;
  std::string away;  // reason why there is no newer frame; can be empty
};

/// Returns at most `height` lines of at most `width` columns, without line ends.
std::vector<std::string> lines_of(frame const& f, rates const& r, view_options const& l);

}  // namespace muster::cli::top
