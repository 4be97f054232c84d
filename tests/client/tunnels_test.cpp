#include "client/programs/tunnels.hpp"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <future>
#include <set>

#include "muster/v1/programs.grpc.pb.h"
#include "tests/support/raw_socket.hpp"

namespace muster::test {
namespace {

using namespace std::chrono_literals;
using tunnel_stream = grpc::ServerReaderWriter<v1::TunnelBytes, v1::TunnelBytes>;

class echo_of_tunnels final : public v1::TunnelService::Service {
 public:
  explicit echo_of_tunnels(int port = 0) : port_(port) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~echo_of_tunnels() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::Status Open(grpc::ServerContext* context, tunnel_stream* s) override {
    v1::TunnelBytes m;
    if (!s->Read(&m)) return grpc::Status::CANCELLED;
    auto const token = context->client_metadata().find("authorization");
    if (token == context->client_metadata().end() || token->second != "Bearer secret")
      return {grpc::StatusCode::UNAUTHENTICATED, "no token"};
    if (m.open().key().size() != 32 || m.open().attempt() != 2)
      return {grpc::StatusCode::PERMISSION_DENIED, "not that one"};
    v1::TunnelBytes rank;  // begins with "store 3" for a TCPStore
    if (m.open().has_torch_rank()) rank.set_data("store " + std::to_string(m.open().torch_rank()));
    s->Write({});
    if (!rank.data().empty()) s->Write(rank);
    while (s->Read(&m)) s->Write(m);
    return grpc::Status::OK;
  }
  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

struct tunnels_of_a_worker : testing::Test {
  template <class F>
  auto on_engine(F f) {
    std::promise<decltype(f())> done;
    engine->context().post([&] { done.set_value(f()); });
    return done.get_future().get();
  }
  std::uint16_t open(std::string const& server, std::uint32_t attempt = 2) {
    return port_of(on_engine([&] {
      all.follow(server);
      return all.open(7, attempt);
    }));
  }
  void close(std::uint32_t attempt = 2) {
    on_engine([&] { return all.close(7, attempt), 0; });
  }

  std::shared_ptr<client_engine> engine = client_engine::shared();
  tunnels all{{.token = "secret", .patience = 500ms}};
};

TEST_F(tunnels_of_a_worker, forward_bytes_in_both_directions) {
  echo_of_tunnels server;
  auto const port = open(server.address());
  EXPECT_EQ(open(server.address()), port) << "one port per attempt";
  raw_socket one(port), two(port);
  ASSERT_TRUE(one.send("one"));
  ASSERT_TRUE(two.send("two"));
  EXPECT_EQ(one.receive(3), "one");
  EXPECT_EQ(two.receive(3), "two");
  std::string const much(std::size_t{4} << 20, 'x');
  auto sending = std::async(std::launch::async, [&] { return one.send(much); });
  std::size_t heard = 0;
  while (heard < much.size()) {
    auto const some = one.receive();
    ASSERT_NE(some, "");
    heard += some.size();
  }
  EXPECT_TRUE(sending.get());
}

TEST_F(tunnels_of_a_worker, tunnels_to_a_torch_store_have_a_port_per_rank) {
  echo_of_tunnels server;
  auto const port = open(server.address());
  auto const of_rank = [&](std::uint32_t rank) {
    return port_of(on_engine([&] { return all.open(7, 2, rank); }));
  };
  auto const zero = of_rank(0), three = of_rank(3);
  EXPECT_EQ((std::set{port, zero, three}).size(), 3u);
  EXPECT_EQ(of_rank(3), three);
  raw_socket one(three);
  EXPECT_EQ(one.receive(7), "store 3");
  ASSERT_TRUE(one.send("x"));
  EXPECT_EQ(one.receive(1), "x");
  close();
  EXPECT_TRUE(one.closed());
  for (auto const p : {port, zero, three}) EXPECT_FALSE(raw_socket().reaches(p));
}

TEST_F(tunnels_of_a_worker, end_with_their_attempt) {
  echo_of_tunnels server;
  auto const port = open(server.address());
  raw_socket one(port);
  ASSERT_TRUE(one.send("one"));
  EXPECT_EQ(one.receive(3), "one");
  close();
  EXPECT_TRUE(one.closed());
  EXPECT_FALSE(raw_socket().reaches(port));
}

TEST_F(tunnels_of_a_worker, refused_tunnel_closes_the_connection) {
  echo_of_tunnels server;
  raw_socket one(open(server.address(), 1));
  EXPECT_TRUE(one.closed());
}

TEST_F(tunnels_of_a_worker, connect_through_a_restarted_server) {
  auto server = std::make_unique<echo_of_tunnels>();
  auto const port = open(server->address());
  auto const at = server->port();
  raw_socket before(port);
  ASSERT_TRUE(before.send("one"));
  EXPECT_EQ(before.receive(3), "one");
  server.reset();
  EXPECT_TRUE(before.closed()) << "the agent connects again";
  raw_socket nobody(port);
  EXPECT_TRUE(nobody.closed()) << "the tunnel waited until its limit";
  server = std::make_unique<echo_of_tunnels>(at);
  // gRPC decides when it reconnects.
  for (int i = 0; i < 20; ++i) {
    raw_socket after(port);
    if (after.send("two") && after.receive(3) == "two") return;
  }
  FAIL() << "the new server is not found";
}

}  // namespace
}  // namespace muster::test
