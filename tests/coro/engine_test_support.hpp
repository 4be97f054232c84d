// Helpers for tests of the coroutine layer.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include "coro/engine_context.hpp"
#include "coro/task_group.hpp"

namespace muster::coro::test {

// For groups whose tasks must not throw.
inline void fail_test(std::string_view name, std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& e) {
    ADD_FAILURE() << name << " threw: " << e.what();
  }
}

inline std::unique_ptr<grpc::CompletionQueue> plain_queue() {
  return std::make_unique<grpc::CompletionQueue>();
}

struct close_at_end {
  explicit close_at_end(engine_context& e) : engine(e) {}
  ~close_at_end() { engine.close(); }
  close_at_end(close_at_end const&) = delete;
  close_at_end& operator=(close_at_end const&) = delete;
  engine_context& engine;
};

inline task<void> then_close(engine_context& engine, task<void> body) {
  close_at_end guard(engine);
  co_await std::move(body);
}

// Runs `body` on the engine in this thread, closes the engine, and returns when run() has returned.
inline void run_to_end(engine_context& engine, task<void> body) {
  task_group group(engine.get_executor(), 1, fail_test);
  group.spawn("test body", then_close(engine, std::move(body)));
  engine.run();
  EXPECT_TRUE(group.empty());
  EXPECT_EQ(engine.pending_ops(), 0U);
}

}  // namespace muster::coro::test
