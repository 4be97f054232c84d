// A worker on its own thread until the end of a scope, and a gate that blocks its functions.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "client/functions/bundled_functions.hpp"
#include "muster/function_error.hpp"
#include "muster/worker.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {

class gate {
 public:
  /// Waits until the gate opens, or until `at` is asked to stop.
  void pass(context const* at = nullptr) {
    ++waiting;
    while (!open_ && !(at && at->cancelled()))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --waiting;
  }
  /// Returns a function that returns 1, or is cancelled if asked to stop.
  auto function() {
    return [this](context& at) {
      pass(&at);
      if (at.cancelled()) throw function_error(failure_kind::cancelled, "stopped");
      return 1;
    };
  }
  void open() { open_ = true; }
  void wait_for(int n) const {
    while (waiting < n) std::this_thread::yield();
  }
  std::atomic<int> waiting = 0;

 private:
  std::atomic<bool> open_ = false;
};

class worker_thread {
 public:
  explicit worker_thread(worker_options o, std::function<void(worker&)> add = {},
                         bundled_options b = {.allow_exec = true})
      : worker_(std::move(o)) {
    add_bundled_functions(worker_, b);
    if (add) add(worker_);
    thread_ = std::thread([this] { status_ = worker_.run(); });
  }
  ~worker_thread() { stop(); }

  /// Returns the result of run().
  int stop() {
    worker_.stop();
    return join();
  }
  int join() {
    if (thread_.joinable()) thread_.join();
    return status_;
  }

 private:
  worker worker_;
  int status_ = -1;
  std::thread thread_;
};

inline worker_options options_for(std::string const& address) {
  worker_options o;
  o.servers = {address};
  o.backoff_min = std::chrono::milliseconds(5);
  o.backoff_max = std::chrono::milliseconds(50);
  return o;
}

inline bool connected(test_server& server, std::size_t count = 1) {
  return server.eventually(
      [&](core::coordinator const& c) { return c.overview({}).tasks_connected == count; });
}

}  // namespace muster::test
