// Wire behaviour of the coordination service beyond the conformance suite: payload bytes, invalid
// messages, sizes, limits, deadlines, lost callers, and server shutdown.
#include <grpcpp/generic/generic_stub.h>

#include "proto/byte_buffer.hpp"
#include "server/rpc/coordination/fault_status.hpp"
#include "tensorflow/distributed_runtime_payloads.pb.h"
#include "tests/support/served_agents.hpp"

namespace muster::test {
namespace {

using namespace std::chrono_literals;
using grpc::StatusCode;

TEST(coordination_fault, payloads_are_encoded_in_both_dialects) {
  coordination::fault f;
  f.code = muster::code::internal;
  f.message = "why";
  f.source = 5;
  f.reported = true;
  f.barrier = {"b", 3};
  f.mismatch = core::incarnation{77};
  auto spec = workers(4);
  spec.jobs.push_back({"ps", 2, false});
  for (auto const d : {server::dialect::xla, server::dialect::tensorflow}) {
    auto const s = server::to_grpc(f, d, &spec);
    EXPECT_EQ(s.error_code(), StatusCode::INTERNAL);
    EXPECT_EQ(s.error_message(), "why");
    tensorflow::distributed_runtime::GrpcPayloadContainer all;
    ASSERT_TRUE(all.ParseFromString(s.error_details()));
    ASSERT_EQ(all.payloads_size(), 3);
    auto const& error =
        all.payloads().at("type.googleapis.com/tensorflow.CoordinationServiceError");
    auto const& barrier = all.payloads().at("type.googleapis.com/tensorflow.BarrierError");
    EXPECT_EQ(barrier, std::string("\x0a\x01"
                                   "b\x10\x03",
                                   5));
    auto const& mismatch = all.payloads().at("type.googleapis.com/tensorflow.ServiceMismatchError");
    EXPECT_EQ(mismatch, std::string("\x09\x4d\0\0\0\0\0\0\0", 9));
    if (d == server::dialect::xla)
      EXPECT_EQ(error, std::string("\x18\x01\x20\x05", 4));
    else
      EXPECT_EQ(error, std::string("\x18\x01\x22\x06\x0a\x02ps\x10\x01", 10));
  }
}

TEST(coordination_fault, fault_of_the_first_task_differs_from_a_fault_without_a_task) {
  coordination::fault f;
  f.code = muster::code::unavailable;
  auto const error = [&f](coordination::task_index source) {
    f.source = source;
    tensorflow::distributed_runtime::GrpcPayloadContainer all;
    EXPECT_TRUE(
        all.ParseFromString(server::to_grpc(f, server::dialect::xla, nullptr).error_details()));
    return all.payloads().at("type.googleapis.com/tensorflow.CoordinationServiceError");
  };
  EXPECT_EQ(error(coordination::no_task), "");
  EXPECT_EQ(error(0), std::string("\x20\0", 2));
  xla::coordination::CoordinationServiceError e;
  ASSERT_TRUE(e.ParseFromString(error(0)));
  EXPECT_EQ(e.source_task_id(), 0);
}

TEST(coordination_fault, no_payload_means_no_details) {
  coordination::fault f;
  f.code = muster::code::already_exists;
  f.coordination = false;
  EXPECT_EQ(server::to_grpc(f, server::dialect::xla, nullptr).error_details(), "");
}

TEST(coordination_fault, text_is_cut_to_the_size_limit_of_trailers) {
  coordination::fault f;
  f.code = muster::code::internal;
  for (std::string const& piece : {std::string("plain "), std::string("\n"), std::string("é")}) {
    f.message.clear();
    while (f.message.size() < coordination::message_bytes_max) f.message += piece;
    f.barrier = {std::string(3'000, 'b'), 1};
    auto const s = server::to_grpc(f, server::dialect::xla, nullptr);
    std::size_t encoded = (s.error_details().size() + 2) / 3 * 4;
    for (char const c : s.error_message()) encoded += c >= ' ' && c <= '~' && c != '%' ? 1 : 3;
    EXPECT_LE(encoded, coordination::trailer_bytes_max);
    EXPECT_TRUE(s.error_message().ends_with("[truncated]"));
  }
}

TEST(coordination_peer, is_formatted_as_host_and_port) {
  EXPECT_EQ(server::readable_peer("ipv4:127.0.0.1:4711"), "127.0.0.1:4711");
  EXPECT_EQ(server::readable_peer("ipv6:%5B::1%5D:4711"), "[::1]:4711");
  EXPECT_EQ(server::readable_peer("ipv6:[::1]:4711"), "[::1]:4711");
  EXPECT_EQ(server::readable_peer("unix:/tmp/x"), "unix:/tmp/x");
}

class coordination_wire : public testing::Test, protected served_agents {
 protected:
  coordination_agent& agent(int task = 0, std::string const& address = {},
                            std::string const& authority = {}) {
    return new_agent({.task = task}, address, authority);
  }
  /// Sends bytes that are no valid message.
  grpc::Status send(std::string const& method, std::string const& bytes) {
    grpc::GenericStub stub(connection_to(server->address()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 10s);
    grpc::Slice const slice(bytes);
    grpc::ByteBuffer request(&slice, 1), response;
    grpc::CompletionQueue queue;
    auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
    call->StartCall();
    grpc::Status status;
    call->Finish(&response, &status, this);
    void* got = nullptr;
    bool ok = false;
    queue.Next(&got, &ok);
    return status;
  }
};

TEST_F(coordination_wire, malformed_message_is_refused) {
  server.emplace(loose(1));
  for (auto const* package : {"xla.coordination", "tensorflow"}) {
    auto const method = "/" + std::string(package) + ".CoordinationService/";
    for (auto const* name : {"RegisterTask", "GetKeyValue", "Barrier", "CancelBarrier"})
      EXPECT_EQ(send(method + name, "\xff\xff\xff\xff").error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(send(method + "Nonsense", "").error_code(), StatusCode::UNIMPLEMENTED);
  }
  // {key = 1} in TensorFlow's protocol, with an invalid UTF-8 byte.
  EXPECT_EQ(send("/tensorflow.CoordinationService/TryGetKeyValue", "\x0a\x01\xff").error_code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(send("/tensorflow.CoordinationService/TryGetKeyValue", "\x0a\x01k").error_code(),
            StatusCode::NOT_FOUND);
}

TEST_F(coordination_wire, large_values_and_long_keys_are_accepted) {
  server.emplace(loose(1));
  auto& a = agent();
  ASSERT_TRUE(a.connect().ok());
  for (std::size_t const bytes : {0, 1, 127, 128, 4'095, 4'096, 100 << 20}) {
    auto const key = "k" + std::to_string(bytes);
    std::string const value(bytes, 'v');
    ASSERT_TRUE(a.insert(key, value).get().ok()) << bytes;
    EXPECT_TRUE(a.get(key).get().value == value) << bytes;
    EXPECT_TRUE(a.try_get(key).get().value == value) << bytes;
  }
  EXPECT_EQ(a.dir("").get().code, StatusCode::OK);
  EXPECT_EQ(a.insert(std::string(100'000, 'k'), "v").get().code, StatusCode::INVALID_ARGUMENT);
}

TEST_F(coordination_wire, a_parked_call_is_answered_before_its_own_deadline) {
  server.emplace(workers(2));
  auto const a = agent().register_task(400ms).get();
  EXPECT_EQ(a.code, StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(a.coordination) << a.message;
}

TEST_F(coordination_wire, parked_calls_of_vanished_callers_are_dropped) {
  server.emplace(loose(2));
  auto& a = agent();
  ASSERT_TRUE(a.connect().ok());
  auto key = a.get("never");
  auto barrier = a.barrier("b", 20s, {}, 0);
  auto poll = a.poll_for_error();
  auto watch = a.watch(a.watch(-1).get().version);
  ASSERT_TRUE(server->parked(4));
  a.cancel_all();
  EXPECT_TRUE(server->parked(0));
  EXPECT_TRUE(server->eventually([](test_server::inside& s) { return s.service.calls() == 0; }));
}

TEST_F(coordination_wire, one_key_wakes_a_thousand_parked_calls) {
  server.emplace(loose(1));
  auto& a = agent();
  ASSERT_TRUE(a.connect().ok());
  std::vector<pending> waiting;
  for (int i = 0; i < 1'000; ++i) waiting.push_back(a.get("later"));
  ASSERT_TRUE(server->parked(1'000));
  ASSERT_TRUE(a.insert("later", std::string(10'000, 'v')).get().ok());
  for (auto& w : waiting) ASSERT_EQ(w.get().value.size(), 10'000u);
}

TEST_F(coordination_wire, stop_answers_a_thousand_parked_calls) {
  server.emplace(loose(1));
  auto& a = agent();
  ASSERT_TRUE(a.connect().ok());
  std::vector<pending> waiting;
  for (int i = 0; i < 1'000; ++i) waiting.push_back(a.get("never"));
  ASSERT_TRUE(server->parked(1'000));
  server->stop();
  for (auto& w : waiting) {
    auto const got = w.get();
    ASSERT_FALSE(got.ok());
    ASSERT_NE(got.code, StatusCode::UNAVAILABLE) << "an answer, not a broken connection";
  }
}

TEST_F(coordination_wire, calls_beyond_the_limit_are_refused) {
  server.emplace(test_server_options{.clusters = {loose(1)}, .agents = {.calls_max = 3}});
  auto& a = agent();
  ASSERT_TRUE(a.connect().ok());
  std::vector<pending> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(a.get("never"));
  ASSERT_TRUE(server->parked(3));
  EXPECT_EQ(a.get("never").get().code, StatusCode::RESOURCE_EXHAUSTED);
  waiting.front().cancel();
  ASSERT_TRUE(server->parked(2));
  EXPECT_TRUE(a.insert("k", "v").get().ok());
}

TEST_F(coordination_wire, error_of_a_cluster_without_tasks_explains_how_to_declare_them) {
  server.emplace(coordination::cluster_spec{});
  auto const a = agent().register_task().get();
  EXPECT_EQ(a.code, StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(a.coordination);
  EXPECT_NE(a.message.find("--cluster default:worker="), std::string::npos) << a.message;
}

class clusters_by_port : public coordination_wire {
 protected:
  void SetUp() override {
    auto first = loose(1), second = loose(2);
    first.name = "alpha";
    second.name = "beta";
    server.emplace(test_server_options{.clusters = {first, second}});
  }
};

TEST_F(clusters_by_port, each_cluster_has_its_own_port) {
  auto& a = agent(0);
  auto& b = agent(0, server->address("beta"));
  ASSERT_TRUE(a.connect().ok());
  ASSERT_TRUE(b.connect().ok());
  EXPECT_NE(a.service_incarnation(), b.service_incarnation());
  EXPECT_EQ(a.watch(-1).get().tasks.size(), 1u);
  EXPECT_EQ(b.watch(-1).get().tasks.size(), 2u);
  auto const peer = server->on_engine([](test_server::inside& s) {
    auto const beta = *s.agents.state().find("beta");
    return s.agents.state().current(beta).views().tasks(s.agents.now(), 0, 1).at(0).peer;
  });
  EXPECT_TRUE(peer.starts_with("127.0.0.1:")) << peer;
}

TEST_F(clusters_by_port, dialled_host_name_selects_the_cluster_on_the_main_port) {
  auto& b = agent(1, {}, "beta.example:8476");
  ASSERT_TRUE(b.connect().ok());
  EXPECT_EQ(b.watch(-1).get().tasks.size(), 2u);
  auto& other = agent(0, {}, "gamma.example");
  ASSERT_TRUE(other.connect().ok());
  EXPECT_EQ(other.watch(-1).get().tasks.size(), 1u) << "no such cluster: the main one";
}

TEST_F(clusters_by_port, removal_answers_parked_calls_and_closes_the_port) {
  auto const address = server->address("beta");
  auto& b = agent(0, address);
  ASSERT_TRUE(b.connect().ok());
  auto waiting = b.get("never");
  EXPECT_TRUE(waiting.parked_for(20ms));
  server->on_engine([](test_server::inside& s) {
    auto const beta = *s.agents.state().find("beta");
    s.ports.close(beta);
    return s.agents.remove("beta").ok();
  });
  EXPECT_FALSE(waiting.get().ok());
  EXPECT_EQ(b.heartbeat().get().code, StatusCode::NOT_FOUND) << "the connection is still open";
  EXPECT_EQ(agent(0, address).heartbeat().get().code, StatusCode::UNAVAILABLE);
}

TEST(cluster_ports, exhausted_port_range_is_an_error) {
  auto first = loose(1), second = loose(1), third = loose(1);
  first.name = "a";
  second.name = "b";
  third.name = "c";
  test_server s({.clusters = {first, second},
                 .ports = {.port_first = 29'321, .port_last = 29'321},
                 .port = 0});
  EXPECT_EQ(s.address("b"), "127.0.0.1:29321");
  auto const opened =
      s.on_engine([&](test_server::inside& in) { return in.ports.open(*in.agents.create(third)); });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, muster::code::resource_exhausted);
}

}  // namespace
}  // namespace muster::test
