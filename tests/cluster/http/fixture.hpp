// Simulated time, a directory for files, and service replies.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>

#include "muster/time_source.hpp"
#include "tests/cluster/fixture.hpp"
#include "tests/support/http_service.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::testing {

using muster::test::http_reply;
using muster::test::http_seen;
using muster::test::http_service;
using muster::test::one_by_one;
using muster::test::temporary_directory;
using namespace std::chrono_literals;

/// Clocks that advance only by waits, which are recorded.
class still_time {
 public:
  cluster::time_source source() {
    auto const s = state_;
    return {[s] { return std::chrono::steady_clock::time_point(s->gone); },
            [s] { return s->wall + s->gone; },
            [s](std::chrono::milliseconds span) {
              s->waits.push_back(span);
              s->gone += span;
            },
            [] { return 1.0; }};
  }
  std::vector<std::chrono::milliseconds> const& waits() const { return state_->waits; }
  void advance(std::chrono::milliseconds span) { state_->gone += span; }
  void wall(std::chrono::system_clock::time_point at) { state_->wall = at; }

 private:
  struct state {
    std::chrono::system_clock::time_point wall{};
    std::chrono::milliseconds gone{0};
    std::vector<std::chrono::milliseconds> waits;
  };
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

inline bool holds(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace muster::testing
