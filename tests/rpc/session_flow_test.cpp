#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {
namespace {

// Without a worker the queue stays full, so the server must stop reading. Unread messages stay with
// the client, whose writes then block.
TEST(session_stream, full_queue_blocks_the_client) {
  test_server server;
  v1::Open open;
  open.set_queue_capacity(100);
  open.set_continue_on_error(true);
  hand_session session(server.address(), open);
  constexpr int messages = 200;
  std::string const args = "[\"" + std::string(1000, 'x') + "\"]";
  std::atomic<int> written = 0;
  std::thread writing([&] {
    for (int i = 0; i < messages; ++i, ++written)
      session.schedule(static_cast<std::uint64_t>(i) * 50, 50, 0, args);
  });
  auto const queued = [](core::coordinator const& c) {
    return c.overview({}).closures.queued - c.overview({}).closures.sent;
  };
  ASSERT_TRUE(server.eventually([&](auto& c) { return queued(c) == 100; }));
  EXPECT_LT(written, messages);

  hand_worker worker(server.address(), make_hello({"f"}, 16, 64));
  std::uint64_t queued_max = 0;
  std::thread serving([&] {
    for (int n = 0; n < messages * 50;) {
      auto const m = worker.read_closures();
      if (!m) break;
      n += m->closure_size();
      worker.answer(*m);
      queued_max =
          std::max(queued_max, server.on_engine([&](server::hub& h) { return queued(h.state()); }));
    }
  });
  int outcomes = 0;
  for (auto const& m : session.read_outcomes(messages * 50)) outcomes += m.token_size();
  EXPECT_EQ(outcomes, messages * 50);
  writing.join();
  serving.join();
  EXPECT_LT(queued_max, 150u);  // the capacity plus less than one message
}

// A client does not read its outcomes. When they reach the capacity, the server stops reading its
// messages.
TEST(session_stream, unread_outcomes_block_the_client) {
  test_server server;
  v1::Open open;
  open.set_queue_capacity(64);
  open.set_continue_on_error(true);
  hand_session session(server.address(), open);
  hand_worker worker(server.address(), make_hello({"f"}, 16, 64));
  std::atomic<int> answered = 0;
  constexpr int total = 40'000;
  std::string const value = "\"" + std::string(1000, 'v') + "\"";
  std::thread serving([&] {
    while (answered < total) {
      auto const m = worker.read_closures();
      if (!m) break;
      worker.answer(*m, value);
      answered += m->closure_size();
    }
  });
  std::thread writing([&] {
    for (int i = 0; i < total; i += 32) session.schedule(static_cast<std::uint64_t>(i), 32);
  });
  // HTTP/2's windows buffer some megabytes before the whole pipeline stops.
  int before = -1;
  while (before != answered) {
    before = answered;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  EXPECT_LT(answered, total);
  int outcomes = 0;
  for (auto const& m : session.read_outcomes(total)) outcomes += m.token_size();
  EXPECT_EQ(outcomes, total);
  writing.join();
  serving.join();
}

TEST(session_stream, calls_of_a_vanished_client_are_cancelled_despite_backpressure) {
  test_server server;
  v1::Open open;
  open.set_queue_capacity(10);
  auto session = std::make_unique<hand_session>(server.address(), open);
  session->schedule(0, 20);
  ASSERT_TRUE(server.eventually([](auto& c) { return c.overview({}).closures.queued == 20; }));
  session->cancel();
  EXPECT_TRUE(server.eventually([](auto& c) {
    auto const o = c.overview({});
    return o.closures.queued == 0 && o.sessions == 0 && o.closures.cancelled == 20;
  }));
}

TEST(session_stream, running_calls_of_a_vanished_client_are_stopped) {
  test_server server;
  hand_worker worker(server.address(), make_hello({"f"}, 1, 1));
  hand_session session(server.address(), {});
  session.schedule(0, 1);
  auto const given = worker.read_closures();
  ASSERT_TRUE(given);
  session.cancel();
  auto const stop = worker.read();
  ASSERT_TRUE(stop);
  ASSERT_EQ(stop->stop_closure_size(), 1);
  EXPECT_EQ(stop->stop_closure(0), given->closure(0));
}

}  // namespace
}  // namespace muster::test
