// Calls with a record and an effect of their own.
#pragma once

#include <deque>
#include <iterator>
#include <map>
#include <random>
#include <string>

#include "tests/robustness/calls/call_history.hpp"

namespace robustness {

/// Submits calls of functions in Python, one by one. Some take a while, so that faults meet them.
class single_calls {
 public:
  static constexpr std::string_view suffix = "";

  single_calls(std::map<std::string, std::string> const& flags, recorder const& history)
      : flags_(flags), history_(history), random_(std::stoull(flags.at("seed"))) {}

  /// Submits calls until `stopping`, or until the session is lost.
  template <class Stopping>
  void run(muster::cluster_coordinator& coordinator, Stopping const& stopping) {
    std::deque<call> waiting;
    record(submit(coordinator));  // if no server opens the session, only this call has no outcome
    try {
      while (!stopping()) {
        while (waiting.size() < in_flight_max) waiting.push_back(submit(coordinator));
        record(waiting.front());
        waiting.pop_front();
      }
    } catch (muster::unavailable_error const&) {
      for (auto const& c : waiting) record(c);
      throw;
    }
    for (auto const& c : waiting) record(c);
  }

 private:
  static constexpr std::size_t in_flight_max = 10;

  struct call {
    std::string id;
    std::int64_t expected = 0;
    std::int64_t begun = 0;
    muster::remote_value<std::int64_t> value{};
  };

  /// Submits one call. A fifth of the calls have the value of another call as their argument.
  call submit(muster::cluster_coordinator& coordinator) {
    constexpr double seconds[] = {0.0, 0.0, 0.001, 0.02, 0.3};
    call c;
    c.id = flags_.at("name") + '.' + std::to_string(started_) + '-' + std::to_string(++numbers_);
    auto const number = static_cast<std::int64_t>(random_() % 1000);
    c.expected = number * 7 + 1;
    c.begun = now();
    auto const& effects = flags_.at("effects");
    auto const pause = seconds[random_() % std::size(seconds)];
    if (random_() % 5 == 0) {
      auto const left = coordinator.submit<std::int64_t>("robustness.compute", effects,
                                                         c.id + "-left", number, pause);
      c.value = coordinator.submit<std::int64_t>("robustness.add", left, 5);
      c.expected += 5;
    } else {
      c.value =
          coordinator.submit<std::int64_t>("robustness.compute", effects, c.id, number, pause);
    }
    return c;
  }

  void record(call const& c) {
    boost::json::object record{
        {"kind", "call"}, {"id", c.id}, {"expected", c.expected}, {"call", c.begun}};
    if (auto const value = fetch(c.value, c.begun, record)) {
      record["value"] = *value;
      record["outcome"] = "ok";
    }
    record["ret"] = now();
    history_.write(record);
  }

  std::map<std::string, std::string> const& flags_;
  recorder const& history_;
  std::mt19937_64 random_;
  std::int64_t started_ = now();
  std::uint64_t numbers_ = 0;
};

}  // namespace robustness
