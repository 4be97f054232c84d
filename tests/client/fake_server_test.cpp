#include "tests/client/fake_server.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <mutex>

#include "muster/log.hpp"
#include "muster/session.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {
namespace {

TEST(fake_server, unknown_function_number_is_a_stale_handle) {
  fake_server server;
  std::promise<v1::WorkerMessage> answer;
  server.on_attach = [&](worker_stream* s) {
    greet(s);
    s->Write(closures(1, 999));
    v1::WorkerMessage m;
    s->Read(&m);
    answer.set_value(m);
    v1::ServerMessage drain;
    drain.set_drain(true);
    s->Write(drain);
    while (s->Read(&m)) {
    }
    return grpc::Status::OK;
  };
  worker_thread worker(options_for(server.address()));
  auto const m = answer.get_future().get();
  EXPECT_EQ(m.closure(0), 100u);
  ASSERT_EQ(m.failure_size(), 1);
  EXPECT_EQ(m.failure(0).kind(), v1::STALE_HANDLE);
  EXPECT_EQ(worker.join(), 0);
}

// Expects that the worker drops the first stream, which breaks the protocol, and reconnects.
void expect_to_come_back(std::function<void(v1::ServerMessage&)> spoil, std::string const& says) {
  std::mutex mutex;
  std::string lines;
  set_log([&](log_level, std::string_view line) {
    std::lock_guard lock(mutex);
    lines += std::string(line) + "\n";
  });
  fake_server server;
  int attached = 0;
  server.on_attach = [&](worker_stream* s) {
    greet(s);
    v1::ServerMessage next;
    if (++attached == 1)
      spoil(next);
    else
      next.set_drain(true);
    s->Write(next);
    v1::WorkerMessage m;
    while (s->Read(&m)) {
    }
    return grpc::Status::OK;
  };
  worker_thread worker(options_for(server.address()));
  EXPECT_EQ(worker.join(), 0);
  EXPECT_EQ(attached, 2);
  set_log({});
  EXPECT_NE(lines.find("violated the protocol: " + says), std::string::npos) << lines;
}

TEST(fake_server, more_closures_than_credits_end_the_stream) {
  expect_to_come_back([](auto& m) { m = closures(3, 0); }, "more closures than credits");
}

TEST(fake_server, unequal_columns_end_the_stream) {
  expect_to_come_back([](auto& m) { m = closures(2, 0), m.add_attempt(1); },
                      "columns of unequal length");
}

TEST(fake_server, connection_without_a_welcome_is_replaced) {
  fake_server server;
  std::atomic<int> attached = 0;
  server.on_attach = [&](worker_stream* s) {
    v1::WorkerMessage m;
    if (++attached == 1) {
      while (s->Read(&m)) {
      }
      return grpc::Status::OK;
    }
    greet(s);
    v1::ServerMessage drain;
    drain.set_drain(true);
    s->Write(drain);
    while (s->Read(&m)) {
    }
    return grpc::Status::OK;
  };
  auto o = options_for(server.address());
  o.connect_timeout = std::chrono::milliseconds(100);
  worker_thread worker(o);
  EXPECT_EQ(worker.join(), 0);
  EXPECT_GE(attached, 2);
}

TEST(fake_server, hello_is_the_same_after_a_reconnect) {
  fake_server server;
  std::vector<v1::WorkerMessage> hellos;
  server.on_attach = [&](worker_stream* s) {
    hellos.push_back(greet(s));
    if (hellos.size() < 3) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting");
    v1::ServerMessage drain;
    drain.set_drain(true);
    s->Write(drain);
    v1::WorkerMessage m;
    while (s->Read(&m)) {
    }
    return grpc::Status::OK;
  };
  worker_thread worker(options_for(server.address()));
  EXPECT_EQ(worker.join(), 0);
  ASSERT_EQ(hellos.size(), 3u);
  EXPECT_EQ(hellos[2].hello().last_index(), 0u);
  hellos[2].mutable_hello()->clear_last_index();
  EXPECT_EQ(hellos[0].hello().stream(), 1u);
  EXPECT_EQ(hellos[2].hello().stream(), 3u) << "streams are counted";
  hellos[2].mutable_hello()->set_stream(1);
  EXPECT_EQ(hellos[0].SerializeAsString(), hellos[2].SerializeAsString());
  EXPECT_EQ(hellos[0].hello().function(0), "muster.noop");
}

TEST(fake_server, session_ends_when_the_server_breaks_the_protocol) {
  fake_server server;
  server.on_session = [](session_stream* s) {
    v1::SessionRequest m;
    s->Read(&m);
    v1::SessionResponse bad;
    bad.mutable_opened()->set_session("job_1");
    bad.add_token(1);
    s->Write(bad);
    while (s->Read(&m)) {
    }
    return grpc::Status::OK;
  };
  session s({.server = server.address()});
  EXPECT_EQ(s.close(), "the server sent columns of unequal length");
}

}  // namespace
}  // namespace muster::test
