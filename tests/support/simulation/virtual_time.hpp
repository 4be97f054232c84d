// Virtual time: an event queue, the only source of randomness, a trace hash, and the last events.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "server/core/api/time.hpp"
#include "tests/support/simulation/random.hpp"
#include "tests/support/simulation/report.hpp"

namespace muster::simulation {

class virtual_time {
 public:
  explicit virtual_time(std::uint64_t seed) : dice_(seed) {}

  core::time_point now() const { return now_; }
  random& dice() { return dice_; }

  /// Events at the same time run in the order of the calls.
  void after(core::duration delay, std::function<void()> what) {
    agenda_.emplace(std::pair{now_ + delay, ++sequence_}, std::move(what));
  }

  /// Records a line for the report of a violation.
  void note(std::string line) {
    notes_.push_back(std::to_string(core::to_unix_ms(now_) - 1'700'000'000'000) + " ms  " +
                     std::move(line));
    if (notes_.size() > notes_max) notes_.pop_front();
  }
  std::string recent() const {
    std::string all;
    for (auto const& n : notes_) all += "  " + n + "\n";
    return all;
  }

  std::uint64_t trace_hash() const { return hash_; }
  std::uint64_t steps() const { return steps_; }

  tally counts;  // of the simulated parts

 protected:
  ~virtual_time() = default;

  /// Returns `never` if no event is left.
  core::time_point next() const {
    return agenda_.empty() ? core::never : agenda_.begin()->first.first;
  }
  void perform_next() {
    now_ = std::max(now_, next());
    auto const what = std::move(agenda_.begin()->second);
    agenda_.erase(agenda_.begin());
    what();
  }
  void mix(std::uint64_t value) { hash_ = (hash_ ^ value) * 1099511628211ull; }

  core::time_point now_{std::chrono::seconds(1'700'000'000)};
  std::uint64_t steps_ = 0;

 private:
  static constexpr std::size_t notes_max = 60;

  random dice_;
  std::map<std::pair<core::time_point, std::uint64_t>, std::function<void()>> agenda_;
  std::uint64_t sequence_ = 0;
  std::uint64_t hash_ = 14695981039346656037ull;
  std::deque<std::string> notes_;
};

}  // namespace muster::simulation
