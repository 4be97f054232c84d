// Many short calls, with one record for a batch of them.
#pragma once

#include <deque>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/robustness/calls/call_history.hpp"
#include "tests/robustness/calls/marks.hpp"

namespace robustness {

/// Submits calls of functions in C++, at a steady rate. A record has the values of a batch of
/// calls. A killed client loses the records of batches that have not ended, which leaves these
/// calls unchecked and explains nothing wrongly.
class call_batches {
 public:
  static constexpr std::string_view suffix = "-batches";

  call_batches(std::map<std::string, std::string> const& flags, recorder const& history)
      : name_(flags.at("name")),
        history_(history),
        random_(std::stoull(flags.at("seed"))),
        pause_(std::chrono::nanoseconds(std::chrono::seconds(1)) * batch_size /
               std::stoll(flags.at("rate"))) {
    begin_marks();
  }

  /// Submits calls until `stopping`, or until the session is lost.
  template <class Stopping>
  void run(muster::cluster_coordinator& coordinator, Stopping const& stopping) {
    std::deque<batch> waiting;
    record(submit(coordinator, 1));  // if no server opens the session, only this one has no outcome
    auto due = std::chrono::steady_clock::now();
    try {
      while (!stopping()) {
        if (waiting.size() == batches_max) {
          record(waiting.front());
          waiting.pop_front();
        }
        waiting.push_back(submit(coordinator, batch_size));
        // Time that an outage took is not caught up with.
        due = std::max(due + pause_, std::chrono::steady_clock::now() - pause_);
        std::this_thread::sleep_until(due);
      }
    } catch (muster::unavailable_error const&) {
      for (auto const& b : waiting) record(b);
      throw;
    }
    for (auto const& b : waiting) record(b);
  }

 private:
  static constexpr std::size_t batch_size = 200;
  static constexpr std::size_t batches_max = 8;  // in flight

  struct batch {
    std::string marks;
    std::uint64_t first = 0;  // number of its first call
    std::int64_t begun = 0;
    std::vector<std::int64_t> expected{};
    std::vector<muster::remote_value<std::int64_t>> values{};
  };

  void begin_marks() {
    marks_ = "marks-" + name_ + '.' + std::to_string(now());
    next_ = 0;
  }

  /// Submits calls. A tenth of the calls have the value of the call before as their argument.
  batch submit(muster::cluster_coordinator& coordinator, std::size_t count) {
    if (next_ + count > marks::size) begin_marks();
    batch b{marks_, next_, now()};
    for (std::size_t n = 0; n < count; ++n) {
      auto const number = static_cast<std::int64_t>(random_() % 1000);
      if (n > 0 && number % 10 == 0) {
        b.values.push_back(coordinator.submit<std::int64_t>("robustness.mark_sum", marks_, next_++,
                                                            b.values.back(), number));
        b.expected.push_back(b.expected.back() + number);
      } else {
        b.values.push_back(
            coordinator.submit<std::int64_t>("robustness.mark", marks_, next_++, number));
        b.expected.push_back(number * 7 + 1);
      }
    }
    return b;
  }

  /// Waits for all calls of a batch, and writes its record. A call without a value is null there
  /// and has a record of its own.
  void record(batch const& b) {
    boost::json::array values;
    for (std::size_t n = 0; n < b.values.size(); ++n) {
      boost::json::object alone{{"kind", "call"},
                                {"id", b.marks + '-' + std::to_string(b.first + n)},
                                {"expected", b.expected[n]},
                                {"call", b.begun}};
      if (auto const value = fetch(b.values[n], b.begun, alone)) {
        values.emplace_back(*value);
        continue;
      }
      values.emplace_back(nullptr);
      alone["ret"] = now();
      history_.write(alone);
    }
    history_.write({{"kind", "batch"},
                    {"marks", b.marks},
                    {"first", b.first},
                    {"expected", boost::json::array(b.expected.begin(), b.expected.end())},
                    {"values", std::move(values)},
                    {"call", b.begun},
                    {"ret", now()}});
  }

  std::string const name_;
  recorder const& history_;
  std::mt19937_64 random_;
  std::chrono::nanoseconds const pause_;
  std::string marks_;
  std::uint64_t next_ = 0;
};

}  // namespace robustness
