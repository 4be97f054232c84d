#include <gtest/gtest.h>

#include "muster/v1/programs.grpc.pb.h"
#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {
namespace {

std::string const key_of_first(32, 'a'), key_of_second(32, 'b');
// A client's HTTP/2 preface and empty SETTINGS, which every server answers with its own SETTINGS.
std::string const preface =
    std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string("\0\0\0\4\0\0\0\0\0", 9);

v1::Hello hello_with(std::string const& key, std::uint64_t incarnation = 7) {
  auto h = make_hello({"f"}, 1, 16, incarnation);
  auto& offer = *h.mutable_programs();
  offer.set_first_port(20'000);
  offer.set_last_port(20'099);
  offer.set_lease_ms(60'000);
  offer.set_address("127.0.0.1");
  offer.set_tunnel_key(key);
  offer.set_torch(true);
  return h;
}

class hand_tunnel : public hand_stream<v1::TunnelBytes, v1::TunnelBytes> {
 public:
  explicit hand_tunnel(std::string const& address)
      : stub_(v1::TunnelService::NewStub(channel_to(address))) {
    stream_ = stub_->Open(&context_);
  }
  hand_tunnel(std::string const& address, v1::StartRanks const& order, std::string const& key,
              std::optional<std::uint32_t> torch_rank = {})
      : hand_tunnel(address) {
    v1::TunnelBytes m;
    m.mutable_open()->set_program(order.program());
    m.mutable_open()->set_attempt(order.attempt());
    m.mutable_open()->set_key(key);
    if (torch_rank) m.mutable_open()->set_torch_rank(*torch_rank);
    write(m);
  }
  bool is_open() { return read().has_value(); }
  bool send(std::string const& bytes) {
    v1::TunnelBytes m;
    m.set_data(bytes);
    return write(m);
  }

 private:
  std::unique_ptr<v1::TunnelService::Stub> stub_;
};

std::uint64_t begin_program(test_server& server, std::uint32_t ranks = 1,
                            core::store_place store = core::store_place::rank0) {
  return server.on_engine([ranks, store](server::hub& h) {
    core::submit_program e;
    e.spec.command = {"true"};
    e.spec.store = store;
    e.spec.tasks.push_back({"worker", ranks, ranks});
    auto const answer = h.ask_now(std::move(e));
    return core::raw(std::get<core::program_reply>(answer.body).program);
  });
}

v1::StartRanks ordered(hand_worker& worker) {
  while (auto m = worker.read())
    if (m->ranks().start_size() > 0) return m->ranks().start(0);
  return {};
}

void end_rank(hand_worker& worker, v1::StartRanks const& order) {
  v1::WorkerMessage m;
  auto& name = *m.mutable_ranks()->add_ended()->mutable_name();
  name.set_program(order.program());
  name.set_attempt(order.attempt());
  worker.write(m);
}

struct rank_tunnels : testing::Test {
  grpc::Status refused(v1::StartRanks const& order, std::string const& key) {
    return hand_tunnel(server.address(), order, key).finish();
  }
  test_server server{test_server_options{.tunnels = {.worker_tunnels_max = 2}}};
};

TEST_F(rank_tunnels, reach_the_coordination_cluster_of_the_attempt) {
  hand_worker worker(server.address(), hello_with(key_of_first));
  begin_program(server);
  auto const order = ordered(worker);
  EXPECT_TRUE(order.coordinated());
  hand_tunnel tunnel(server.address(), order, key_of_first);
  ASSERT_TRUE(tunnel.is_open());
  ASSERT_TRUE(tunnel.send(preface));
  auto const first = tunnel.read();
  ASSERT_TRUE(first);
  ASSERT_GE(first->data().size(), 9u);
  EXPECT_EQ(first->data()[3], 4) << "SETTINGS come first";
  tunnel.half_close();
  EXPECT_TRUE(tunnel.finish().ok());
}

TEST_F(rank_tunnels, reach_the_torch_store_as_their_rank) {
  hand_worker worker(server.address(), hello_with(key_of_first));
  begin_program(server, 1, core::store_place::server);
  auto const order = ordered(worker);
  EXPECT_TRUE(order.torch_store());
  hand_tunnel tunnel(server.address(), order, key_of_first, 0);
  ASSERT_TRUE(tunnel.is_open());
  auto const heard = tunnel.read();
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->data(), "store of rank 0");
  tunnel.half_close();
  EXPECT_TRUE(tunnel.finish().ok());
  auto const beyond = hand_tunnel(server.address(), order, key_of_first, 4'096).finish();
  EXPECT_EQ(beyond.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(beyond.error_message(), "open.torch_rank: must be less than 4096, got 4096");
  EXPECT_EQ(hand_tunnel(server.address(), order, key_of_second, 0).finish().error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(rank_tunnels, are_refused_to_other_workers) {
  hand_worker first(server.address(), hello_with(key_of_first, 7));
  begin_program(server);
  auto const order = ordered(first);
  hand_worker second(server.address(), hello_with(key_of_second, 8));
  EXPECT_EQ(refused(order, key_of_second).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(refused(order, "").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  auto other = order;
  other.set_attempt(2);
  EXPECT_EQ(refused(other, key_of_first).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  other = order;
  other.set_program(order.program() + 1);
  EXPECT_EQ(refused(other, key_of_first).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  hand_tunnel silent(server.address());
  silent.half_close();
  EXPECT_EQ(silent.finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(rank_tunnels, are_not_offered_to_workers_without_tunnels) {
  hand_worker worker(server.address(), hello_with(""));
  begin_program(server);
  EXPECT_FALSE(ordered(worker).coordinated());
}

TEST_F(rank_tunnels, tunnels_of_a_worker_are_limited) {
  hand_worker worker(server.address(), hello_with(key_of_first));
  begin_program(server);
  auto const order = ordered(worker);
  {
    hand_tunnel one(server.address(), order, key_of_first);
    hand_tunnel two(server.address(), order, key_of_first);
    ASSERT_TRUE(one.is_open() && two.is_open());
    auto const third = refused(order, key_of_first);
    EXPECT_EQ(third.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << third.error_message();
    one.half_close();
    EXPECT_TRUE(one.finish().ok());
    hand_tunnel again(server.address(), order, key_of_first);
    EXPECT_TRUE(again.is_open());
    two.cancel(), again.cancel();
    two.finish(), again.finish();
  }
}

TEST_F(rank_tunnels, size_of_a_piece_is_limited) {
  hand_worker worker(server.address(), hello_with(key_of_first));
  begin_program(server);
  hand_tunnel tunnel(server.address(), ordered(worker), key_of_first);
  ASSERT_TRUE(tunnel.is_open());
  tunnel.send(std::string((std::size_t{1} << 20) + 1, 'x'));
  EXPECT_FALSE(tunnel.finish().ok());
}

// The server closes its side while data of the rank is still in flight.
TEST_F(rank_tunnels, invalid_data_ends_only_its_own_tunnel) {
  hand_worker worker(server.address(), hello_with(key_of_first));
  begin_program(server);
  auto const order = ordered(worker);
  for (int i = 0; i < 100; ++i) {
    hand_tunnel tunnel(server.address(), order, key_of_first);
    ASSERT_TRUE(tunnel.is_open());
    if (i % 2 == 0) tunnel.send(preface);
    for (int piece = 0; piece < 50 && tunnel.send(std::string(2'000, 'x')); ++piece) {
    }
    tunnel.half_close();
    tunnel.finish();
  }
  hand_tunnel good(server.address(), order, key_of_first);
  EXPECT_TRUE(good.is_open());
  good.half_close();
  EXPECT_TRUE(good.finish().ok());
}

TEST_F(rank_tunnels, end_with_the_attempt) {
  hand_worker worker(server.address(), hello_with(key_of_first));
  begin_program(server);
  auto const order = ordered(worker);
  hand_tunnel tunnel(server.address(), order, key_of_first);
  ASSERT_TRUE(tunnel.is_open());
  end_rank(worker, order);
  EXPECT_EQ(tunnel.finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(refused(order, key_of_first).error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(rank_tunnels, outlive_a_broken_stream_of_the_worker) {
  auto worker = std::make_unique<hand_worker>(server.address(), hello_with(key_of_first));
  begin_program(server);
  auto const order = ordered(*worker);
  hand_tunnel tunnel(server.address(), order, key_of_first);
  ASSERT_TRUE(tunnel.is_open());
  worker->cancel();
  worker->finish();
  ASSERT_TRUE(server.eventually([](core::coordinator const& c) {
    return c.overview(core::time_point{}).tasks_connected == 0;
  }));
  ASSERT_TRUE(tunnel.send(preface));
  EXPECT_TRUE(tunnel.read());
  tunnel.cancel();
  tunnel.finish();
}

TEST_F(rank_tunnels, end_when_the_server_stops) {
  hand_worker worker(server.address(), hello_with(key_of_first));
  begin_program(server);
  hand_tunnel tunnel(server.address(), ordered(worker), key_of_first);
  ASSERT_TRUE(tunnel.is_open());
  server.stop();
  EXPECT_EQ(tunnel.finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(rank_tunnels, key_of_a_wrong_length_is_refused) {
  hand_worker worker(server.address());
  v1::WorkerMessage m;
  *m.mutable_hello() = hello_with("short");
  worker.write(m);
  EXPECT_EQ(worker.finish().error_message(),
            "hello.programs.tunnel_key: must have 16 to 64 bytes, got 5");
}

}  // namespace
}  // namespace muster::test
