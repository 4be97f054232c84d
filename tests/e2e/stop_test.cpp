#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <muster/session.hpp>

#include "tests/e2e/cluster.hpp"
#include "tests/support/raw_socket.hpp"

namespace muster::e2e {
namespace stop_cases {

TEST(stop, sigterm_of_an_idle_server_exits_with_0) {
  cluster c;
  auto& server = c.serve();
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(10s), 0) << server.errors();
  EXPECT_TRUE(server.says("stopped"));
}

TEST(stop, sigint_of_an_idle_server_exits_with_0) {
  cluster c;
  auto& server = c.serve();
  server.signal(SIGINT);
  EXPECT_EQ(server.wait(10s), 0) << server.errors();
}

TEST(stop, parked_calls_are_answered_and_streams_end) {
  cluster c;
  auto& server = c.serve();
  auto& worker = c.worker({"--slots", "1"});
  ASSERT_TRUE(c.await_tasks(1));
  muster::session session({.server = c.grpc()});
  session.wait_open();
  auto future = session.call<void>("muster.sleep", 60'000);
  auto const id = first_line(c.run({"submit", "muster.sleep", "60000", "--no-wait"}).out);

  auto joined = std::async(std::launch::async, [&] {
    muster::http_client client;
    muster::http_request request;
    request.url = c.url() + "/api/v1/jobs/" + id + "/join?timeout=30s";
    return client.send(request);
  });
  ASSERT_TRUE(await(
      [&] { return c.text("/metrics").find("\nmuster_parked_calls 1\n") != std::string::npos; }));

  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(15s), 0) << server.errors();
  auto const answer = joined.get();
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->status, 503u) << answer->body;
  EXPECT_THROW(future.get(), closure_error);
  EXPECT_TRUE(worker.running()) << "a worker outlives its server and waits for the next one";
}

// A request whose body never arrives. A graceful stop waits a moment for it.
constexpr auto half_request =
    "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    "Content-Length: 100\r\n\r\n{";

TEST(stop, second_signal_ends_the_server_at_once) {
  cluster c;
  auto& server = c.serve();
  test::raw_socket slow(test::port_of(c.http()));
  ASSERT_TRUE(slow.send(half_request));
  ASSERT_EQ(c.status_of("/readyz"), 200u);  // by now the server has read the other request
  server.signal(SIGTERM);
  ASSERT_TRUE(server.says("stopping"));
  auto const start = std::chrono::steady_clock::now();
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(10s), 1) << server.errors();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
}

TEST(stop, unfinished_requests_are_abandoned_after_the_stop_timeout) {
  cluster c;
  auto& server = c.serve({"--stop-timeout", "200ms"});
  test::raw_socket slow(test::port_of(c.http()));
  ASSERT_TRUE(slow.send(half_request));
  ASSERT_EQ(c.status_of("/readyz"), 200u);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(10s), 1);
  EXPECT_TRUE(server.says("HTTP exchanges"));
}

TEST(stop, port_is_free_after_the_stop) {
  cluster c;
  auto& server = c.serve();
  server.signal(SIGTERM);
  ASSERT_EQ(server.wait(10s), 0);
  EXPECT_NO_THROW(c.serve());
}

}  // namespace stop_cases
}  // namespace muster::e2e
