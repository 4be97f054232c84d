#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <fstream>

#include "muster/v1/coordinator.grpc.pb.h"
#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;

struct limited : cluster {
  limited() {
    serve({"--data-dir", file("data").string(), "--auth", "on"});
    std::getline(std::ifstream(file("data") / "admin.token"), admin);
    auto const made = run({"token", "create", "--role", "submitter", "--queued-max", "10"}, {},
                          {{"MUSTER_TOKEN", admin}});
    EXPECT_EQ(made.status, 0) << made.err;
    token = made.out.substr(0, made.out.find('\n'));
    stub = v1::CoordinatorService::NewStub(
        grpc::CreateChannel(grpc(), grpc::InsecureChannelCredentials()));
  }
  void sign(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + 60s);
    context.AddMetadata("authorization", "Bearer " + token);
  }
  std::string open() {
    grpc::ClientContext context;
    sign(context);
    v1::Opened opened;
    auto const s = stub->OpenSession(&context, {}, &opened);
    EXPECT_TRUE(s.ok()) << s.error_message();
    return opened.session();
  }
  grpc::Status schedule(std::string const& session, std::uint64_t from, std::uint64_t closures) {
    grpc::ClientContext context;
    sign(context);
    v1::ScheduleRequest r;
    r.set_session(session);
    for (auto t = from; t < from + closures; ++t) {
      r.add_token(t);
      r.add_function("nobody.has.it");
      r.add_args("[]");
    }
    v1::ScheduleResponse answer;
    return stub->Schedule(&context, r, &answer);
  }
  std::int64_t queued(std::string const& session) {
    auto const f = run({"jobs", "--output", "json"}, {}, {{"MUSTER_TOKEN", admin}});
    EXPECT_EQ(f.status, 0) << f.err;
    auto const all = json::parse(f.out);
    auto const& jobs = all.is_array() ? all.as_array() : all.at("jobs").as_array();
    for (auto const& j : jobs)
      if (j.at("id").as_string() == session)
        return j.at("counts").at("queued").to_number<std::int64_t>();
    return -1;
  }
  std::string admin, token;
  std::unique_ptr<v1::CoordinatorService::Stub> stub;
};

struct session_stream {
  session_stream(limited& c, std::string const& function) {
    c.sign(context);
    stream = c.stub->Session(&context);
    v1::SessionRequest request;
    request.mutable_open();
    request.add_function_name(function);
    EXPECT_TRUE(stream->Write(request));
    v1::SessionResponse answer;
    EXPECT_TRUE(stream->Read(&answer));
    session = answer.opened().session();
  }

  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>> stream;
  std::string session;
};

TEST(token_limits, limits_apply_to_all_streams_and_calls_of_a_token_together) {
  limited c;
  auto const first = c.open();
  ASSERT_TRUE(c.schedule(first, 1, 8).ok());
  // A stream of the same token whose own queue could take ten more.
  session_stream opened(c, "nobody.has.it");
  auto const& stream = opened.stream;
  auto const second = opened.session;
  for (std::uint64_t t = 1; t <= 6; ++t) {
    v1::SessionRequest one;
    one.add_token(t);
    one.add_function(0);
    one.add_args("[]");
    ASSERT_TRUE(stream->Write(one));
  }
  auto const await = [&](std::int64_t n) {
    auto const end = std::chrono::steady_clock::now() + 30s;
    while (c.queued(second) < n && std::chrono::steady_clock::now() < end) {
    }
    return c.queued(second);
  };
  // Eight and two are ten. One more message could have been in flight.
  EXPECT_GE(await(2), 2);
  for (int i = 0; i < 5; ++i) EXPECT_LE(c.queued(second), 3) << "the stream is read no further";
  auto const full = c.schedule(first, 100, 1);
  EXPECT_EQ(full.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(full.error_message().find("its limit is 10"), std::string::npos)
      << full.error_message();
  // Closing the other session frees its share.
  grpc::ClientContext closing;
  c.sign(closing);
  v1::CloseSessionRequest r;
  r.set_session(first);
  v1::CloseSessionResponse closed;
  ASSERT_TRUE(c.stub->CloseSession(&closing, r, &closed).ok());
  EXPECT_EQ(await(6), 6);
  opened.context.TryCancel();
}

TEST(token_limits, per_worker_values_at_the_limit_are_released_over_the_stream) {
  limited c;
  session_stream opened(c, "nobody.has.it");
  auto const& stream = opened.stream;
  auto const build = [&](std::uint64_t from, std::uint64_t to) {
    v1::SessionRequest building;
    for (auto t = from; t <= to; ++t) {
      auto& v = *building.add_per_worker();
      v.set_token(t);
      v.set_function(0);
      v.set_args("[]");
    }
    EXPECT_TRUE(stream->Write(building));
    std::vector<v1::PerWorkerCreated> all;
    for (v1::SessionResponse r; all.size() <= to - from && stream->Read(&r);)
      all.insert(all.end(), r.per_worker().begin(), r.per_worker().end());
    return all;
  };
  auto const made = build(1, 10);
  ASSERT_EQ(made.size(), 10u);
  EXPECT_NE(made.back().value(), 0u);
  v1::SessionRequest release;
  release.add_release_per_worker(made.front().value());
  ASSERT_TRUE(stream->Write(release));
  auto const next = build(11, 11);
  ASSERT_EQ(next.size(), 1u) << "the release is read at the limit";
  EXPECT_NE(next.front().value(), 0u);
  auto const full = build(12, 12);
  ASSERT_EQ(full.size(), 1u);
  EXPECT_EQ(full.front().value(), 0u) << "ten is the limit";
  auto const by_call = [&](std::string const& function) {
    grpc::ClientContext calling;
    c.sign(calling);
    v1::CreatePerWorkerValueRequest r;
    r.set_session(opened.session);
    r.set_function(function);
    r.set_args("[]");
    v1::PerWorkerValue made_by_call;
    return c.stub->CreatePerWorkerValue(&calling, r, &made_by_call).error_code();
  };
  EXPECT_EQ(by_call("nobody.has.it"), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(by_call("muster.exec"), grpc::StatusCode::PERMISSION_DENIED);
  opened.context.TryCancel();
}

TEST(token_limits, message_of_a_stream_is_accepted_up_to_the_limit) {
  limited c;
  session_stream opened(c, "muster.noop");
  auto const& stream = opened.stream;
  v1::SessionRequest many;
  for (std::uint64_t t = 1; t <= 1'000; ++t) {
    many.add_token(t);
    many.add_function(0);
    many.add_args("[]");
  }
  ASSERT_TRUE(stream->Write(many));
  auto const session = opened.session;
  auto const end = std::chrono::steady_clock::now() + 30s;
  while (c.queued(session) < 10 && std::chrono::steady_clock::now() < end) {
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(c.queued(session), 10);
  c.spawn({"worker", "--server", c.grpc()}, {{"MUSTER_TOKEN", c.admin}});
  int outcomes = 0;
  for (v1::SessionResponse r; outcomes < 1'000 && stream->Read(&r);) outcomes += r.token_size();
  EXPECT_EQ(outcomes, 1'000) << "all of them are appended as room comes";
  opened.context.TryCancel();
}

}  // namespace
}  // namespace muster::e2e
