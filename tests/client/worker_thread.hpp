// A worker that runs on a thread of its own for the length of a scope.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

#include "client/functions/bundled_functions.hpp"
#include "muster/worker.hpp"
#include "tests/rpc/test_server.hpp"

namespace muster::test {

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

  /// What run() returned.
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

/// So many workers are, soon.
inline bool connected(test_server& server, std::size_t count = 1) {
  return server.eventually(
      [&](core::coordinator const& c) { return c.overview({}).tasks_connected == count; });
}

}  // namespace muster::test
