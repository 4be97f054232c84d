#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "tests/client/fake_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {
namespace {

std::uint32_t number_of(v1::WorkerMessage const& hello, std::string const& function) {
  auto const& all = hello.hello().function();
  return static_cast<std::uint32_t>(std::find(all.begin(), all.end(), function) - all.begin());
}

void acknowledge(worker_stream* s, std::uint64_t count) {
  v1::ServerMessage m;
  m.set_answers_taken(count);
  s->Write(m);
}

void drain(worker_stream* s) {
  v1::ServerMessage m;
  m.set_drain(true);
  s->Write(m);
}

void read_to_the_end(worker_stream* s) {
  v1::WorkerMessage m;
  while (s->Read(&m)) {
  }
}

void read_answers(worker_stream* s, int count) {
  v1::WorkerMessage m;
  while (count > 0 && s->Read(&m)) count -= m.closure_size();
}

struct kept_answers : testing::Test {
  fake_server server;
  std::atomic<int> calls = 0;
  std::function<void(worker&)> const functions = [this](worker& w) {
    w.function("counted", [this](context&) { return ++calls; });
    w.function("failing", [](context&) -> int { throw std::runtime_error("broken"); });
  };
};

TEST_F(kept_answers, unacknowledged_answers_are_repeated_in_the_next_hello) {
  std::vector<v1::WorkerMessage> hellos;
  server.on_attach = [&](worker_stream* s) {
    hellos.push_back(greet(s, 3, true));
    if (hellos.size() == 1) {
      s->Write(closures(2, number_of(hellos[0], "counted")));
      s->Write(closures(1, number_of(hellos[0], "failing"), 102));
      read_answers(s, 3);
      acknowledge(s, 1);
      v1::WorkerMessage m;
      s->Write(closures(1, 999));  // its answer shows that the earlier messages were read
      read_answers(s, 1);
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "killed");
    }
    acknowledge(s, 2);
    drain(s);
    read_to_the_end(s);
    return grpc::Status::OK;
  };
  auto o = options_for(server.address());
  o.slots = 1;
  worker_thread worker(o, functions);
  EXPECT_EQ(worker.join(), 0);
  ASSERT_EQ(hellos.size(), 2u);
  EXPECT_TRUE(hellos[0].hello().keeps_answers());
  EXPECT_FALSE(hellos[0].hello().has_answers());
  auto const& h = hellos[1].hello();
  EXPECT_EQ(h.held_closure_size(), 0);
  ASSERT_EQ(h.answers().closure_size(), 2);
  EXPECT_EQ(h.answers().closure(0), 101u);
  EXPECT_EQ(h.answers().attempt(0), 1u);
  EXPECT_EQ(h.answers().value(0), "2");
  EXPECT_EQ(h.answers().closure(1), 102u);
  ASSERT_EQ(h.answers().failure_size(), 1);
  EXPECT_EQ(h.answers().failure(0).position(), 1u);
  EXPECT_EQ(h.answers().failure(0).message(), "broken");
}

TEST_F(kept_answers, worker_leaves_only_after_its_answers_are_durable) {
  std::atomic<bool> acknowledged = false, left_before = false;
  server.on_attach = [&](worker_stream* s) {
    auto const hello = greet(s, 2, true);
    s->Write(closures(1, number_of(hello, "counted")));
    read_answers(s, 1);
    drain(s);
    std::thread later([&] {
      // Time for a wrong answer to arrive.
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      acknowledged = true;
      acknowledge(s, 1);
    });
    read_to_the_end(s);
    left_before = !acknowledged;
    later.join();
    return grpc::Status::OK;
  };
  worker_thread worker(options_for(server.address()), functions);
  EXPECT_EQ(worker.join(), 0);
  EXPECT_FALSE(left_before);
}

TEST_F(kept_answers, worker_at_the_limit_starts_no_closure) {
  constexpr int most = 1'024;
  std::atomic<int> calls_at_retraction = 0;
  server.on_attach = [&](worker_stream* s) {
    auto const hello = greet(s, 2'000, true);
    auto const counted = number_of(hello, "counted");
    s->Write(closures(most, counted));
    read_answers(s, most);
    s->Write(closures(2, counted, 5'000));
    v1::ServerMessage recall;
    recall.add_recall_closure(5'000);
    recall.add_recall_attempt(1);
    s->Write(recall);
    v1::WorkerMessage m;
    while (m.returned_closure_size() == 0 && s->Read(&m)) {
    }
    calls_at_retraction = calls.load();
    acknowledge(s, 1);
    read_answers(s, 1);
    acknowledge(s, most + 1);
    drain(s);
    read_to_the_end(s);
    return grpc::Status::OK;
  };
  worker_thread worker(options_for(server.address()), functions);
  EXPECT_EQ(worker.join(), 0);
  EXPECT_EQ(calls_at_retraction, most);
  EXPECT_EQ(calls, most + 1)
      << "the retracted closure never ran, and the other ran once there was room";
}

TEST_F(kept_answers, are_dropped_if_the_next_server_sends_no_acknowledgements) {
  std::vector<v1::WorkerMessage> hellos;
  server.on_attach = [&](worker_stream* s) {
    hellos.push_back(greet(s, 2, hellos.empty()));
    if (hellos.size() == 1) {
      s->Write(closures(1, number_of(hellos[0], "counted")));
      read_answers(s, 1);
    }
    if (hellos.size() < 3) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "killed");
    drain(s);
    read_to_the_end(s);
    return grpc::Status::OK;
  };
  worker_thread worker(options_for(server.address()), functions);
  EXPECT_EQ(worker.join(), 0);
  ASSERT_EQ(hellos.size(), 3u);
  EXPECT_EQ(hellos[1].hello().answers().closure_size(), 1);
  EXPECT_EQ(hellos[2].hello().answers().closure_size(), 0);
}

}  // namespace
}  // namespace muster::test
