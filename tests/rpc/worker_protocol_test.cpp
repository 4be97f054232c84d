#include <gtest/gtest.h>

#include <functional>

#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {
namespace {

grpc::Status status_of_hello(test_server& server, v1::Hello const& hello) {
  hand_worker worker(server.address());
  v1::WorkerMessage m;
  *m.mutable_hello() = hello;
  worker.write(m);
  return worker.finish();
}

TEST(worker_protocol, bad_hello_ends_the_stream_with_the_field) {
  test_server server;
  auto hello = make_hello();
  hello.set_slots(0);
  auto const status = status_of_hello(server, hello);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "hello.slots: must be at least 1, got 0");
}

TEST(worker_protocol, unknown_cluster_is_not_found) {
  test_server server;
  auto hello = make_hello();
  hello.set_cluster("nowhere");
  auto const status = status_of_hello(server, hello);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "hello.cluster: there is no cluster 'nowhere'");
}

TEST(worker_protocol, too_many_tasks_are_refused) {
  test_server_options o;
  o.core.tasks_max = 1;
  test_server server(o);
  hand_worker first(server.address(), make_hello({"f"}, 1, 1, 1));
  auto const status = status_of_hello(server, make_hello({"f"}, 1, 1, 2));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
}

TEST(worker_protocol, too_many_streams_are_refused) {
  test_server_options o;
  o.workers.streams_max = 1;
  test_server server(o);
  hand_worker first(server.address(), make_hello({"f"}, 1, 1, 1));
  auto const status = status_of_hello(server, make_hello({"f"}, 1, 1, 2));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
}

TEST(worker_protocol, hello_must_come_first) {
  test_server server;
  hand_worker worker(server.address());
  worker.write({});
  auto const status = worker.finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "hello: must be the first message");
}

TEST(worker_protocol, stream_without_hello_is_refused) {
  test_server server;
  hand_worker worker(server.address());
  worker.half_close();
  EXPECT_EQ(worker.finish().error_message(), "hello: required, but the stream ended first");
}

TEST(worker_protocol, hello_has_a_deadline) {
  test_server_options o;
  o.workers.first_message_timeout = std::chrono::milliseconds(30);
  test_server server(o);
  hand_worker worker(server.address());
  auto const status = worker.finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(status.error_message(), "received no hello within 30 ms");
}

// ---- after hello: each holds two closures and then does something wrong ------------------------

struct offence {
  char const* name;
  std::function<void(v1::WorkerMessage&, v1::ServerMessage const& held)> commit;
  char const* says;
};

void PrintTo(offence const& o, std::ostream* out) {
  *out << o.name;
}

void answer_all(v1::WorkerMessage& m, v1::ServerMessage const& held) {
  *m.mutable_closure() = held.closure();
  *m.mutable_attempt() = held.attempt();
  for (int i = 0; i < held.closure_size(); ++i) m.add_value("1");
}

offence const offences[] = {
    {"hello_twice", [](auto& m, auto&) { *m.mutable_hello() = make_hello(); },
     "hello: must be sent only once"},
    {"unequal_columns", [](auto& m, auto& h) { answer_all(m, h), m.add_attempt(1); },
     "attempt: 3 entries for 2 closures"},
    {"unknown_failure_kind",
     [](auto& m, auto& h) {
       answer_all(m, h);
       m.mutable_value(0)->clear();
       m.add_failure()->set_kind(static_cast<v1::FailureKind>(50));
     },
     "failure[0].kind: unknown kind 50"},
    {"position_out_of_range",
     [](auto& m, auto& h) { answer_all(m, h), m.add_failure()->set_position(2); },
     "failure[0].position: 2, but the message has only 2 closures"},
    {"both_value_and_failure", [](auto& m, auto& h) { answer_all(m, h), m.add_failure(); },
     "failure[0].position: 0 also has a value"},
    {"more_results_than_held",
     [](auto& m, auto& h) {
       m.add_closure(h.closure(0) + 1000);
       m.add_attempt(1);
       m.add_value("1");
     },
     "which is not assigned to it"},
    {"wrong_attempt",
     [](auto& m, auto& h) {
       m.add_closure(h.closure(0));
       m.add_attempt(9);
       m.add_value("1");
     },
     "answered attempt 9"},
};

class protocol_violation_test : public testing::TestWithParam<offence> {};

TEST_P(protocol_violation_test, ends_the_stream_and_its_closures_run_elsewhere) {
  test_server server;
  hand_session session(server.address(), {});
  hand_worker bad(server.address(), make_hello({"f"}, 2, 2, 1));
  session.schedule(0, 2);
  auto held = bad.read_closures();
  ASSERT_TRUE(held);
  if (held->closure_size() < 2) held->MergeFrom(*bad.read_closures());
  v1::WorkerMessage m;
  GetParam().commit(m, *held);
  bad.write(m);
  auto const status = bad.finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find(GetParam().says), std::string::npos)
      << status.error_message();

  hand_worker good(server.address(), make_hello({"f"}, 2, 2, 2));
  for (int answered = 0; answered < 2;) {
    auto const given = good.read_closures();
    ASSERT_TRUE(given);
    answered += given->closure_size();
    good.answer(*given);
  }
  int outcomes = 0;
  for (auto const& o : session.read_outcomes(2)) outcomes += o.token_size();
  EXPECT_EQ(outcomes, 2);
  EXPECT_EQ(server.violated_invariant(), "");
}

INSTANTIATE_TEST_SUITE_P(all, protocol_violation_test, testing::ValuesIn(offences),
                         [](auto const& i) { return std::string(i.param.name); });

TEST(worker_protocol, length_of_a_process_end_is_limited) {
  test_server server;
  hand_worker worker(server.address(), make_hello());
  v1::WorkerMessage m;
  m.mutable_process_end()->set_how(std::string(513, 'x'));
  worker.write(m);
  auto const status = worker.finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "process_end.how: 513 bytes, the limit is 512");
}

TEST(worker_protocol, malformed_message_is_distinguished_from_a_half_close) {
  test_server server;
  grpc::GenericStub stub(channel_to(server.address()));
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  auto stream = stub.PrepareCall(&context, "/muster.v1.WorkerService/Attach", &queue);
  void* tag = nullptr;
  bool ok = false;
  stream->StartCall(nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  grpc::Slice const garbage("\xFF\xFF\xFF not a message");
  stream->Write(grpc::ByteBuffer(&garbage, 1), nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  grpc::Status status;
  stream->Finish(&status, nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "the message could not be decoded");
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
}

}  // namespace
}  // namespace muster::test
