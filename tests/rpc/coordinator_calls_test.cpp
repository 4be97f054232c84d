#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <thread>

#include "server/core/queries/value_queries.hpp"
#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {
namespace {

struct coordinator_calls : testing::Test {
  static test_server_options options() {
    test_server_options o;
    o.core.session_grace = std::chrono::milliseconds(300);
    return o;
  }
  test_server server{options()};
  std::unique_ptr<v1::CoordinatorService::Stub> stub =
      v1::CoordinatorService::NewStub(channel_to(server.address()));
  hand_worker worker{server.address(), make_hello({"f"}, 2, 16)};
  std::mutex mutex;
  grpc::Status status;
  std::string session = open();

  template <class Request, class Response>
  Response call(grpc::Status (v1::CoordinatorService::Stub::*method)(grpc::ClientContext*,
                                                                     Request const&, Response*),
                std::type_identity_t<Request> const& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    Response response;
    auto const s = (stub.get()->*method)(&context, request, &response);
    std::lock_guard lock(mutex);
    status = s;
    return response;
  }

  std::string open() {
    v1::OpenSessionRequest r;
    r.mutable_open()->set_session_grace_ms(60'000);
    return call(&v1::CoordinatorService::Stub::OpenSession, r).session();
  }
  v1::ScheduleResponse schedule(int n, std::uint64_t first_token = 0) {
    v1::ScheduleRequest r;
    r.set_session(session);
    for (int i = 0; i < n; ++i) {
      if (first_token > 0) r.add_token(first_token + static_cast<std::uint64_t>(i));
      r.add_function("f");
      r.add_args("[]");
    }
    return call(&v1::CoordinatorService::Stub::Schedule, r);
  }
  v1::JoinResponse join(std::uint64_t timeout_ms = 10'000) {
    v1::JoinRequest r;
    r.set_session(session);
    r.set_timeout_ms(timeout_ms);
    return call(&v1::CoordinatorService::Stub::Join, r);
  }
  v1::JoinResponse done() {
    v1::DoneRequest r;
    r.set_session(session);
    return call(&v1::CoordinatorService::Stub::Done, r);
  }
  v1::FetchResponse fetch(std::uint64_t closure, std::uint64_t timeout_ms = 10'000) {
    v1::FetchRequest r;
    r.set_closure(closure);
    r.set_timeout_ms(timeout_ms);
    return call(&v1::CoordinatorService::Stub::Fetch, r);
  }
  void fail(v1::ServerMessage const& given, std::string const& message) {
    v1::WorkerMessage m;
    for (int i = 0; i < given.closure_size(); ++i) {
      m.add_closure(given.closure(i));
      m.add_attempt(given.attempt(i));
      m.add_value();
      auto& f = *m.add_failure();
      f.set_position(static_cast<std::uint32_t>(i));
      f.set_message(message);
    }
    worker.write(m);
  }
};

TEST_F(coordinator_calls, call_is_scheduled_joined_fetched_and_released) {
  auto const ids = schedule(1);
  ASSERT_EQ(ids.closure_size(), 1);
  EXPECT_EQ(fetch(ids.closure(0), 1).state(), v1::FetchResponse::NOT_READY);
  EXPECT_TRUE(status.ok());
  EXPECT_FALSE(done().done());
  EXPECT_FALSE(join(1).done());
  worker.answer(*worker.read_closures(), "42");
  EXPECT_TRUE(join().done());
  EXPECT_TRUE(done().done());
  auto const v = fetch(ids.closure(0));
  EXPECT_EQ(v.state(), v1::FetchResponse::READY);
  EXPECT_EQ(v.value(), "42");
  v1::ReleaseRequest r;
  r.set_session(session);
  r.add_closure(ids.closure(0));
  call(&v1::CoordinatorService::Stub::Release, r);
  fetch(ids.closure(0));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(coordinator_calls, value_is_an_input) {
  auto const ids = schedule(1);
  worker.answer(*worker.read_closures(), "42");
  join();
  v1::ScheduleRequest r;
  r.set_session(session);
  r.add_function("f");
  r.add_args("[]");
  r.add_input()->set_closure(ids.closure(0));
  r.mutable_input(0)->set_offset(1);
  call(&v1::CoordinatorService::Stub::Schedule, r);
  EXPECT_EQ(worker.read_closures()->args(0), "[42]");
}

TEST_F(coordinator_calls, error_is_raised_to_exactly_one_caller) {
  schedule(2);
  auto const first = worker.read_closures();
  std::vector<std::future<v1::JoinResponse>> all;
  for (int i = 0; i < 4; ++i)
    all.push_back(std::async(std::launch::async, [this] { return join(); }));
  ASSERT_TRUE(server.eventually([](auto& c) { return c.overview({}).parked_calls == 4; }));
  fail(*first, "broken");
  if (first->closure_size() < 2) fail(*worker.read_closures(), "stopped");
  int raised = 0;
  for (auto& f : all) raised += f.get().has_error();
  EXPECT_EQ(raised, 1);
  EXPECT_FALSE(join().has_error());
}

TEST_F(coordinator_calls, own_error_is_raised_only_by_its_value) {
  v1::ScheduleRequest r;
  r.set_session(session);
  for (int i = 0; i < 2; ++i) r.add_function("f"), r.add_args("[]"), r.add_options_of(1);
  r.add_options()->set_own_error(true);
  auto const ids = call(&v1::CoordinatorService::Stub::Schedule, r);
  ASSERT_EQ(ids.closure_size(), 2);
  fail(*worker.read_closures(), "its own");
  auto const v = fetch(ids.closure(0));
  EXPECT_EQ(v.failure().message(), "its own");
  EXPECT_EQ(schedule(1).error().message(), "");
}

TEST_F(coordinator_calls, explain_names_a_closure_that_no_worker_can_run) {
  v1::ScheduleRequest r;
  r.set_session(session);
  for (char const* f : {"f", "nobody's"}) r.add_function(f), r.add_args("[]");
  r.add_token(5), r.add_token(6);
  call(&v1::CoordinatorService::Stub::Schedule, r);
  v1::ExplainRequest asked;
  asked.set_session(session);
  for (std::uint64_t const token : {99, 5, 6}) asked.add_token(token);
  auto const told = call(&v1::CoordinatorService::Stub::Explain, asked);
  EXPECT_EQ(told.token(), 6u);
  EXPECT_TRUE(told.no_worker());
  EXPECT_NE(told.why().find("no connected worker provides 'nobody's'"), std::string::npos);
  asked.clear_token();
  asked.add_token(5);
  auto const other = call(&v1::CoordinatorService::Stub::Explain, asked);
  EXPECT_EQ(other.token(), 5u);
  EXPECT_FALSE(other.no_worker());
  EXPECT_NE(other.why(), "");
  asked.clear_token();
  for (int i = 0; i < 17; ++i) asked.add_token(5);
  call(&v1::CoordinatorService::Stub::Explain, asked);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "token: 17 tokens, the limit is 16");
}

TEST_F(coordinator_calls, cancel_queued_keeps_started_closures_running) {
  schedule(2, 5);
  auto const running = worker.read_closures();
  v1::ScheduleRequest delayed;
  delayed.set_session(session);
  delayed.add_token(9), delayed.add_function("f"), delayed.add_args("[]"),
      delayed.add_options_of(1);
  delayed.add_options()->set_delay_ms(60'000);
  call(&v1::CoordinatorService::Stub::Schedule, delayed);
  v1::CancelQueuedRequest r;
  r.set_session(session);
  for (std::uint64_t const token : {5, 6, 9, 99}) r.add_token(token);
  r.set_dry_run(true);
  auto const asked = call(&v1::CoordinatorService::Stub::CancelQueued, r);
  r.set_dry_run(false);
  auto const cancelled = call(&v1::CoordinatorService::Stub::CancelQueued, r);
  for (auto const* answer : {&asked, &cancelled}) {
    EXPECT_EQ(std::vector(answer->started().begin(), answer->started().end()),
              (std::vector<std::uint64_t>{5, 6}));
    EXPECT_EQ(std::vector(answer->unknown().begin(), answer->unknown().end()),
              std::vector<std::uint64_t>{99});
  }
  worker.answer(*running, "1");
  if (running->closure_size() < 2) worker.answer(*worker.read_closures(), "1");
  EXPECT_TRUE(join().done());  // the delayed closure has been cancelled
  auto const again = call(&v1::CoordinatorService::Stub::CancelQueued, r);
  EXPECT_EQ(again.started_size(), 2);
  EXPECT_EQ(again.unknown_size(), 1) << "the second cancel also cancelled closure 9";
  r.set_dry_run(true);
  auto const asked_again = call(&v1::CoordinatorService::Stub::CancelQueued, r);
  EXPECT_EQ(asked_again.started_size(), 2) << "9 has not started";
  EXPECT_EQ(asked_again.unknown_size(), 2);
  for (int i = r.token_size(); i <= 10'000; ++i) r.add_token(5);
  call(&v1::CoordinatorService::Stub::CancelQueued, r);
  EXPECT_EQ(status.error_message(), "token: 10001 tokens, the limit is 10000");
}

TEST_F(coordinator_calls, cancel_queued_reports_dependents_as_cancelled) {
  v1::ScheduleRequest delayed;
  delayed.set_session(session);
  delayed.add_token(1), delayed.add_function("f"), delayed.add_args("[]"),
      delayed.add_options_of(1);
  delayed.add_options()->set_delay_ms(60'000);
  auto const first = call(&v1::CoordinatorService::Stub::Schedule, delayed);
  ASSERT_EQ(first.closure_size(), 1) << status.error_message();
  v1::ScheduleRequest dependent;
  dependent.set_session(session);
  dependent.add_token(2), dependent.add_function("f"), dependent.add_args("[]");
  dependent.add_input()->set_closure(first.closure(0));
  dependent.mutable_input(0)->set_offset(1);
  call(&v1::CoordinatorService::Stub::Schedule, dependent);
  ASSERT_TRUE(status.ok()) << status.error_message();
  v1::CancelQueuedRequest r;
  r.set_session(session);
  r.add_token(1), r.add_token(2);
  EXPECT_EQ(call(&v1::CoordinatorService::Stub::CancelQueued, r).started_size(), 0);
  EXPECT_TRUE(join().done());
}

TEST_F(coordinator_calls, capacity_counts_the_slots_of_connected_workers_with_the_function) {
  v1::GetCapacityRequest r;
  r.set_session(session);
  r.set_function("f");
  EXPECT_EQ(call(&v1::CoordinatorService::Stub::GetCapacity, r).slots(), 2u);
  auto hello = make_hello({"f"}, 3, 16, 8);
  hello.set_job("trainer");
  hand_worker const trainer(server.address(), hello);
  hello.set_incarnation(9), hello.set_job("ps");
  hand_worker const ps(server.address(), hello);
  EXPECT_EQ(call(&v1::CoordinatorService::Stub::GetCapacity, r).slots(), 5u)
      << "a stateful task gets only closures that name it";
  r.set_function("g");
  EXPECT_EQ(call(&v1::CoordinatorService::Stub::GetCapacity, r).slots(), 0u);
}

TEST_F(coordinator_calls, schedule_raises_the_error_and_schedules_nothing) {
  schedule(1);
  fail(*worker.read_closures(), "kept");
  ASSERT_TRUE(server.eventually([](auto& c) { return c.overview({}).closures.failed == 1; }));
  auto const refused = schedule(1);
  EXPECT_EQ(refused.error().message(), "kept");
  EXPECT_EQ(refused.closure_size(), 0);
  auto const taken = schedule(1);
  EXPECT_FALSE(taken.has_error());
  EXPECT_EQ(taken.closure_size(), 1);
  EXPECT_EQ(taken.generation(), 2u);
}

TEST_F(coordinator_calls, repeated_token_is_the_same_closure) {
  auto const once = schedule(2, 10);
  auto const again = schedule(2, 10);
  EXPECT_EQ(once.closure(1), again.closure(1));
}

TEST_F(coordinator_calls, cancel_ends_one_closure_or_all) {
  auto const ids = schedule(40);
  v1::CancelRequest r;
  r.set_session(session);
  r.add_closure(ids.closure(39));
  call(&v1::CoordinatorService::Stub::Cancel, r);
  EXPECT_EQ(fetch(ids.closure(39)).failure().kind(), v1::CANCELLED);
  r.clear_closure();
  call(&v1::CoordinatorService::Stub::Cancel, r);
  EXPECT_EQ(fetch(ids.closure(38)).failure().kind(), v1::CANCELLED);
}

TEST_F(coordinator_calls, close_removes_the_session_and_unknown_ones_are_not_found) {
  v1::CloseSessionRequest r;
  r.set_session(session);
  call(&v1::CoordinatorService::Stub::CloseSession, r);
  EXPECT_TRUE(status.ok());
  join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  session = "job_x";
  join();
  EXPECT_EQ(status.error_message(), "session: 'job_x' is not a session id");
}

TEST_F(coordinator_calls, session_without_calls_ends_after_its_grace) {
  v1::OpenSessionRequest r;
  session = call(&v1::CoordinatorService::Stub::OpenSession, r).session();
  EXPECT_TRUE(done().done());
  ASSERT_TRUE(server.eventually([](auto& c) { return c.overview({}).sessions == 1; }));
  done();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(coordinator_calls, bad_input_names_the_field) {
  v1::ScheduleRequest r;
  r.set_session(session);
  r.add_function("");
  call(&v1::CoordinatorService::Stub::Schedule, r);
  EXPECT_EQ(status.error_message().rfind("function[0]: ", 0), 0u) << status.error_message();
  r.set_function(0, "f");
  call(&v1::CoordinatorService::Stub::Schedule, r);
  EXPECT_EQ(status.error_message(), "args: 0 entries for 1 closures");
  v1::OpenSessionRequest o;
  o.mutable_open()->set_detached(true);
  call(&v1::CoordinatorService::Stub::OpenSession, o);
  EXPECT_EQ(status.error_message(), "open.detached: only streams can be detached");
}

TEST_F(coordinator_calls, parked_calls_are_answered_when_the_server_stops) {
  schedule(1);
  auto waiting = std::async(std::launch::async, [&] { return join(); });
  ASSERT_TRUE(server.eventually([](auto& c) { return c.overview({}).parked_calls == 1; }));
  server.stop();
  waiting.get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(coordinator_calls, per_worker_value_is_built_shown_used_and_released) {
  v1::CreatePerWorkerValueRequest r;
  r.set_session(session);
  r.set_function("f");
  r.set_name("rows");
  r.set_token(9);
  auto const made = call(&v1::CoordinatorService::Stub::CreatePerWorkerValue, r);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(made.function(), "f");
  EXPECT_EQ(made.name(), "rows");
  ASSERT_EQ(made.component_size(), 1);
  EXPECT_EQ(made.component(0).task(), "worker:0");
  EXPECT_EQ(made.component(0).state(), v1::FetchResponse::NOT_READY);
  EXPECT_EQ(call(&v1::CoordinatorService::Stub::CreatePerWorkerValue, r).value(), made.value())
      << "the same token";
  auto const build = worker.read_closures();
  ASSERT_EQ(build->per_worker_size(), 1);
  EXPECT_EQ(build->per_worker(0).builds(), made.value());
  worker.answer(*build, "null");

  v1::ScheduleRequest use;
  use.set_session(session);
  use.add_function("f");
  use.add_args(R"([{"$per_worker":"pw"}])");
  use.add_input()->set_per_worker(made.value());
  call(&v1::CoordinatorService::Stub::Schedule, use);
  ASSERT_TRUE(status.ok()) << status.error_message();
  auto const given = worker.read_closures();
  ASSERT_EQ(given->per_worker_size(), 1);
  EXPECT_EQ(given->per_worker(0).uses(0), made.value());

  v1::GetPerWorkerValueRequest get;
  get.set_value(made.value());
  EXPECT_EQ(call(&v1::CoordinatorService::Stub::GetPerWorkerValue, get).component(0).state(),
            v1::FetchResponse::READY);
  worker.answer(*given, "1");
  v1::ReleasePerWorkerValueRequest release;
  release.set_session(session);
  release.set_value(made.value());
  call(&v1::CoordinatorService::Stub::ReleasePerWorkerValue, release);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(server.eventually([](auto& c) { return c.per_worker().list({}, 1).items.empty(); }));
  call(&v1::CoordinatorService::Stub::ReleasePerWorkerValue, release);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(coordinator_calls, wrong_per_worker_requests_name_the_field) {
  v1::CreatePerWorkerValueRequest r;
  r.set_session("nobody");
  r.set_function("f");
  call(&v1::CoordinatorService::Stub::CreatePerWorkerValue, r);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("session"), std::string::npos) << status.error_message();
  r.set_session(session);
  r.set_function("");
  call(&v1::CoordinatorService::Stub::CreatePerWorkerValue, r);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("function"), std::string::npos) << status.error_message();
  v1::GetPerWorkerValueRequest get;
  get.set_value(12345);
  call(&v1::CoordinatorService::Stub::GetPerWorkerValue, get);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace muster::test
