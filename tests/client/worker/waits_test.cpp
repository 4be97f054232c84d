#include <gtest/gtest.h>

#include <algorithm>
#include <semaphore>
#include <set>

#include "client/value_wait.hpp"
#include "client/worker/held_closures.hpp"
#include "tests/client/fake_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {
namespace {

/// Reads the hello, and sends a welcome that keeps `kept` of the offered closures.
v1::WorkerMessage greet_waiting(worker_stream* s, std::uint32_t nested_max,
                                std::vector<std::uint32_t> const& kept = {}) {
  v1::WorkerMessage hello;
  s->Read(&hello);
  v1::ServerMessage m;
  auto& w = *m.mutable_welcome();
  w.set_job("worker");
  w.set_credits(4);
  w.set_heartbeat_interval_ms(10'000);
  w.set_reconnect_grace_ms(5'000);
  w.set_nested_max(nested_max);
  w.mutable_kept()->Add(kept.begin(), kept.end());
  s->Write(m);
  return hello;
}

template <class Is>
v1::WorkerMessage read_until(worker_stream* s, Is const& is) {
  v1::WorkerMessage m;
  while (s->Read(&m))
    if (is(m)) return m;
  ADD_FAILURE() << "the worker has closed the stream";
  return {};
}

void drain_worker(worker_stream* s) {
  v1::ServerMessage end;
  end.set_drain(true);
  s->Write(end);
  v1::WorkerMessage m;
  while (s->Read(&m)) {
  }
}

v1::ServerMessage closure(v1::WorkerMessage const& hello, std::string const& function, int number) {
  auto const& all = hello.hello().function();
  auto const at = std::find(all.begin(), all.end(), function) - all.begin();
  return closures(1, static_cast<std::uint32_t>(at), number);
}

/// A worker with one slot. "waits" gets its value when "makes" runs.
struct waits : testing::Test {
  void run() {
    worker_thread w(options_for(server.address()), [this](worker& to) {
      to.function("waits", [this] {
        detail::value_wait const here;
        comes.acquire();
      });
      to.function("makes", [this] { comes.release(); });
    });
    EXPECT_EQ(w.join(), 0);
  }

  fake_server server;
  std::binary_semaphore comes{0};
};

auto const has_waits = [](v1::WorkerMessage const& m) { return m.wait_closure_size() > 0; };
auto const has_answer = [](v1::WorkerMessage const& m) { return m.closure_size() > 0; };

TEST_F(waits, release_their_slot_and_are_reported_again_on_a_new_stream) {
  v1::WorkerMessage told, again;
  std::set<std::uint64_t> answered;
  int attached = 0;
  server.on_attach = [&](worker_stream* s) {
    if (++attached == 1) {
      s->Write(closure(greet_waiting(s, 1), "waits", 100));
      told = read_until(s, has_waits);
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "cut");
    }
    again = greet_waiting(s, 1, {0});
    s->Write(closure(again, "makes", 101));
    while (answered.size() < 2) {
      auto const made = read_until(s, has_answer);
      if (made.closure_size() == 0) break;
      answered.insert(made.closure().begin(), made.closure().end());
    }
    drain_worker(s);
    return grpc::Status::OK;
  };
  run();
  EXPECT_EQ(attached, 2);
  ASSERT_EQ(told.wait_closure_size(), 1);
  EXPECT_EQ(told.wait_closure(0), 100u);
  EXPECT_EQ(told.wait_attempt(0), 1u);
  EXPECT_TRUE(told.waits(0));
  EXPECT_EQ(again.hello().held_closure_size(), 1);
  ASSERT_EQ(again.hello().held_waits_size(), 1);
  EXPECT_EQ(again.hello().held_waits(0), 0u);
  EXPECT_EQ(answered, (std::set<std::uint64_t>{100, 101}))
      << "the second closure runs in the slot of the first, which waits for it";
}

TEST_F(waits, are_not_reported_to_a_server_that_does_not_support_them) {
  server.on_attach = [&](worker_stream* s) {
    auto const hello = greet_waiting(s, 0);
    s->Write(closure(hello, "waits", 100));
    s->Write(closure(hello, "makes", 101));
    std::this_thread::sleep_for(held_closures::slot_kept + std::chrono::milliseconds(500));
    comes.release();  // "makes" could not run in the same slot
    auto const first = read_until(s, [](auto const& m) { return has_waits(m) || has_answer(m); });
    EXPECT_FALSE(has_waits(first));
    EXPECT_EQ(first.closure(0), 100u);
    if (first.closure_size() == 1) read_until(s, has_answer);
    drain_worker(s);
    return grpc::Status::OK;
  };
  run();
}

}  // namespace
}  // namespace muster::test
