#include <gtest/gtest.h>

#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {
namespace {

test_server_options durable() {
  test_server_options o;
  o.core.durable = true;
  return o;
}

v1::Hello that_keeps_answers() {
  auto h = make_hello({"f"}, 4, 16);
  h.set_keeps_answers(true);
  return h;
}

void submit(test_server& server, std::size_t count) {
  server.on_engine([count](server::hub& h) {
    core::open_session e;
    auto const f = h.learn({"f"}).ids.at(0);
    for (std::size_t i = 0; i < count; ++i) e.closures.push_back({f, 0, 0, core::blob("[]")});
    h.ask(std::move(e), [](core::reply const&) {});
    return 0;
  });
}

std::uint64_t next_acknowledged(hand_worker& w) {
  while (auto m = w.read())
    if (m->answers_taken() > 0) return m->answers_taken();
  return 0;
}

TEST(worker_acknowledged, once_the_effects_of_the_answer_are_durable) {
  test_server server(durable());
  hand_worker w(server.address(), that_keeps_answers());
  EXPECT_TRUE(w.welcome.acknowledges());
  submit(server, 2);
  server.write_all();
  w.answer(*w.read_closures());
  ASSERT_TRUE(server.eventually(
      [](core::coordinator const& c) { return c.overview({}).closures.succeeded == 2; }));
  submit(server, 1);
  auto const more = w.read_closures();
  ASSERT_TRUE(more);
  EXPECT_EQ(more->answers_taken(), 0u) << "nothing was written";
  server.write_all();
  EXPECT_EQ(next_acknowledged(w), 2u);
  w.answer(*more);
  ASSERT_TRUE(server.eventually(
      [](core::coordinator const& c) { return c.overview({}).closures.succeeded == 3; }));
  server.write_all();
  EXPECT_EQ(next_acknowledged(w), 3u);
}

TEST(worker_acknowledged, only_answers_of_the_batches_that_were_written) {
  test_server server(durable());
  hand_worker w(server.address(), that_keeps_answers());
  submit(server, 1);
  auto const first = w.read_closures();
  submit(server, 1);
  auto const second = w.read_closures();
  auto const succeeded = [&server](std::uint64_t n) {
    return server.eventually(
        [n](core::coordinator const& c) { return c.overview({}).closures.succeeded == n; });
  };
  w.answer(*first);
  ASSERT_TRUE(succeeded(1));
  auto const batch = server.written();
  w.answer(*second);
  ASSERT_TRUE(succeeded(2));
  server.write_up_to(batch);
  EXPECT_EQ(next_acknowledged(w), 1u) << "the second answer is not on disk";
  server.write_all();
  EXPECT_EQ(next_acknowledged(w), 2u);
}

// Work that is not durable must continue, and a worker with too many kept answers starts nothing.
TEST(worker_acknowledged, also_by_a_server_whose_disk_has_failed) {
  test_server server(durable());
  hand_worker w(server.address(), that_keeps_answers());
  submit(server, 1);
  w.answer(*w.read_closures());
  ASSERT_TRUE(server.eventually(
      [](core::coordinator const& c) { return c.overview({}).closures.succeeded == 1; }));
  server.fail_disk();
  EXPECT_EQ(next_acknowledged(w), 1u);
}

TEST(worker_acknowledged, answers_in_a_hello_are_counted_first) {
  test_server server(durable());
  auto hello = that_keeps_answers();
  auto& a = *hello.mutable_answers();
  for (std::uint64_t n = 1; n <= 3; ++n) a.add_closure(n), a.add_attempt(1), a.add_value("1");
  hand_worker w(server.address(), hello);
  EXPECT_EQ(next_acknowledged(w), 3u) << "no client waits for the answers";
}

TEST(worker_acknowledged, only_with_a_disk_and_a_worker_that_keeps_answers) {
  test_server with(durable()), without;
  EXPECT_FALSE(hand_worker(with.address(), make_hello()).welcome.acknowledges());
  EXPECT_FALSE(hand_worker(without.address(), that_keeps_answers()).welcome.acknowledges());
}

}  // namespace
}  // namespace muster::test
