#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <deque>

#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/e2e/cluster.hpp"
#include "tests/support/raw_socket.hpp"

namespace muster::e2e {
namespace half_open_cases {

using testing::Test;

std::string const preface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
std::string const half_preface = preface.substr(0, 20);
std::string const half_request = "GET /livez HTTP/1.1\r\nHost: loc";

// Connections that send these bytes and stay open.
class crowd {
 public:
  crowd(std::string const& address, std::size_t size, std::string const& words) {
    for (std::size_t i = 0; i < size; ++i) all_.emplace_back(test::port_of(address)).send(words);
  }

 private:
  std::deque<test::raw_socket> all_;
};

unsigned livez(cluster const& c) {
  http_client client;
  http_request r;
  r.url = c.url() + "/livez";
  auto const answer = client.send(r);
  EXPECT_TRUE(answer) << answer.error().message;
  return answer ? answer->status : 0;
}

bool serves(cluster const& c) {
  using grpc::health::v1::Health;
  auto const channel = grpc::CreateChannel(c.grpc(), grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 20s);
  context.set_wait_for_ready(true);
  grpc::health::v1::HealthCheckResponse answer;
  return Health::NewStub(channel)->Check(&context, {}, &answer).ok() &&
         answer.status() == grpc::health::v1::HealthCheckResponse::SERVING;
}

TEST(half_open, flood_at_a_port_delays_no_other_client) {
  cluster c;
  c.serve({"--connections-max", "300"});
  c.worker();
  ASSERT_TRUE(c.await_tasks(1));
  crowd const at_http(c.http(), 400, half_request);
  crowd const at_grpc(c.grpc(), 1200, half_preface);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(livez(c), 200u);
    EXPECT_TRUE(serves(c));
  }
  EXPECT_EQ(c.run({"submit", "muster.echo", "7"}).out, "7\n");
  auto const metrics = c.text("/metrics");
  EXPECT_EQ(metrics.find("{port=\"http\",reason=\"address_limit\"} 0\n"), std::string::npos);
  EXPECT_EQ(metrics.find("{port=\"grpc\",reason=\"address_limit\"} 0\n"), std::string::npos);
}

TEST(half_open, without_descriptors_health_answers_and_the_server_recovers) {
  cluster c;
  auto& server = c.serve_behind({"/usr/bin/prlimit", "--nofile=200:200"});
  auto const shortage = "no file descriptor is left";
  {
    crowd const speaking(c.grpc(), 300, preface);
    ASSERT_TRUE(server.says(shortage));
    for (int i = 0; i < 20; ++i) EXPECT_EQ(livez(c), 200u) << i;
    crowd const half(c.http(), 100, half_request);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(livez(c), 200u) << i;
  }
  EXPECT_TRUE(serves(c));
  c.worker();
  EXPECT_TRUE(c.await_tasks(1));
  EXPECT_EQ(count(server.errors(), shortage), 1u) << server.errors();
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
}

}  // namespace half_open_cases
}  // namespace muster::e2e
