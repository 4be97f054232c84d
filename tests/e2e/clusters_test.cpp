#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/e2e/cluster.hpp"
#include "xla/coordination/coordination_service.grpc.pb.h"

namespace muster::e2e {
namespace {

// Registers a task, and can wait at a barrier. Its calls are cancelled when the test ends.
class agent {
 public:
  agent(std::string const& address, int task)
      : stub_(xla::coordination::CoordinationService::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {
    thread_ = std::thread([this, task] {
      xla::coordination::RegisterTaskRequest hello;
      hello.set_incarnation(100 + static_cast<std::uint64_t>(task));
      hello.set_source_task_id(task);
      xla::coordination::RegisterTaskResponse welcome;
      grpc::ClientContext context;
      if (stub_->RegisterTask(&context, hello, &welcome).ok() && task == 0)
        wait_at("step/1", welcome.service_incarnation());
    });
  }
  ~agent() {
    context_.TryCancel();
    thread_.join();
  }
  agent(agent const&) = delete;

 private:
  void wait_at(std::string const& barrier, std::uint64_t service) {
    xla::coordination::BarrierRequest r;
    r.mutable_incarnations()->set_service_incarnation(service);
    r.set_barrier_id(barrier);
    r.set_barrier_timeout_in_ms(60'000);
    xla::coordination::BarrierResponse ignored;
    (void)stub_->Barrier(&context_, r, &ignored);
  }

  std::unique_ptr<xla::coordination::CoordinationService::Stub> stub_;
  grpc::ClientContext context_;
  std::thread thread_;
};

TEST(clusters, are_declared_shown_and_deleted) {
  cluster c;
  c.serve();
  auto const made =
      c.run({"clusters", "create", "train", "worker=2", "ps=1", "--heartbeat-timeout", "30s"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_CONTAINS(made.out, "train is declared; its agents connect to 127.0.0.1:");
  auto const list = c.run({"clusters"});
  EXPECT_CONTAINS(list.out, "train");
  EXPECT_CONTAINS(list.out, "3 missing");
  auto const shown = c.run({"clusters", "show", "train"});
  EXPECT_CONTAINS(shown.out, "heartbeat 30s");
  EXPECT_CONTAINS(shown.out, "WAITING");
  auto const tasks = c.run({"tasks", "--cluster", "train", "--state", "missing"});
  EXPECT_CONTAINS(tasks.out, "ps:0");
  EXPECT_EQ(c.run({"clusters", "delete", "train"}).status, 0);
  auto const gone = c.run({"clusters", "show", "train"});
  EXPECT_EQ(gone.status, 1);
  EXPECT_CONTAINS(gone.err, "there is no cluster 'train'");
}

TEST(clusters, errors_are_one_line) {
  cluster c;
  c.serve();
  struct {
    words typed;
    int status;
    char const* why;
  } const all[] = {
      {{"clusters", "destroy"}, 2, "not one of list, create, show, runs, fail, delete"},
      {{"clusters", "create"}, 2, "NAME is missing"},
      {{"clusters", "create", "x", "worker"}, 2, "not JOB=N"},
      {{"clusters", "create", "x y", "worker=1"}, 1, "name: 'x y' must be"},
      {{"clusters", "delete", "default"}, 1, "main port"},
      {{"clusters", "fail", "default"}, 2, "--reason TEXT"},
      {{"clusters", "fail", "default", "--reason", "x"}, 1, "has no tasks yet"},
      {{"clusters", "fail", "default", "--reason", "x", "--code", "OK"},
       1,
       "expected ABORTED, INTERNAL"},
      {{"barriers", "show"}, 2, "ID is missing"},
      {{"barriers", "show", "nope"}, 1, "has no barrier 'nope'"},
      {{"barriers", "--cluster", "nope"}, 1, "there is no cluster 'nope'"},
      {{"kv", "get", "nope"}, 1, "has no key 'nope'"},
      {{"kv", "get", "nope", "--timeout", "50ms"}, 1, "was not set within 50ms"},
      {{"kv", "put", "k"}, 2, "VALUE is missing"},
      {{"kv", "get", "a", "b"}, 2, "unexpected argument 'b'"},
  };
  for (auto const& one : all) {
    auto const f = c.run(one.typed);
    EXPECT_EQ(f.status, one.status) << f.err;
    EXPECT_CONTAINS(f.err, one.why);
    EXPECT_EQ(std::count(f.err.begin(), f.err.end(), '\n'), 1) << f.err;
  }
}

TEST(clusters, keys_are_put_read_and_deleted) {
  cluster c;
  c.serve();
  EXPECT_EQ(c.run({"kv", "put", "a/b", "hello"}).status, 0);
  EXPECT_EQ(c.run({"kv", "get", "a/b"}).out, "hello");
  auto const twice = c.run({"kv", "put", "a/b", "other", "--insert"});
  EXPECT_EQ(twice.status, 1);
  EXPECT_CONTAINS(twice.err, "already exists");
  EXPECT_EQ(c.run({"kv", "put", "a/b", "other"}).status, 0);
  EXPECT_EQ(c.run({"kv", "put", "a/c", "-"}, c.write("value", std::string("\0\xff", 2))).status, 0);
  EXPECT_EQ(c.run({"kv", "get", "a/c"}).out, std::string("\0\xff", 2));
  EXPECT_EQ(c.run({"kv", "put", "a/d", "--", "-5"}).status, 0);
  EXPECT_EQ(c.run({"kv", "get", "a/d"}).out, "-5");
  auto const list = c.run({"kv", "list", "a/"});
  EXPECT_CONTAINS(list.out, "other");
  EXPECT_CONTAINS(list.out, "(binary)");
  auto const json = boost::json::parse(c.run({"kv", "list", "--output", "json"}).out);
  EXPECT_EQ(json.at(1).at("value_base64").as_string(), "AP8=");
  auto const refused = c.run({"kv", "delete", "a"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_CONTAINS(refused.err, "--recursive");
  EXPECT_EQ(c.run({"kv", "delete", "a", "--recursive"}).status, 0);
  EXPECT_CONTAINS(c.run({"kv"}).err, "no key yet");
  EXPECT_CONTAINS(c.run({"kv", "waits"}).err, "no task is waiting");
}

TEST(clusters, names_tasks_missing_at_a_barrier) {
  cluster c;
  c.serve({"--cluster", "train:worker=2"});
  agent zero(c.grpc(), 0), one(c.grpc(), 1);
  ASSERT_TRUE(await([&] { return c.run({"barriers"}).out.find("step/1") != std::string::npos; }));
  auto const shown = c.run({"barriers", "show", "step/1"});
  EXPECT_CONTAINS(shown.out, "1 of 2");
  EXPECT_CONTAINS(shown.out, "/job:worker/task:1  127.0.0.1:");
  EXPECT_CONTAINS(shown.out, "AFTER THE FIRST");
  EXPECT_CONTAINS(c.run({"barriers", "show", "step/1", "--output", "json"}).out,
                  "\"arrivals\":[{\"task\":\"/job:worker/task:0\",\"came_ms\":");
  auto const tasks = c.run({"tasks"});
  EXPECT_CONTAINS(tasks.out, "is waiting for barrier step/1");
  auto const events = c.run({"events", "--output", "json"});
  EXPECT_CONTAINS(events.out, "\"cluster\":\"train\"");
  EXPECT_CONTAINS(c.run({"barriers", "cancel", "step/1"}).out, "is cancelled");
  auto const again = c.run({"barriers", "cancel", "step/1"});
  EXPECT_EQ(again.status, 1);
  EXPECT_CONTAINS(again.err, "has already ended");
}

TEST(clusters, failing_a_run_ends_all_tasks_with_the_reason) {
  cluster c;
  c.serve({"--cluster", "train:worker=2"});
  agent zero(c.grpc(), 0), one(c.grpc(), 1);
  ASSERT_TRUE(await([&] { return c.run({"barriers"}).out.find("step/1") != std::string::npos; }));
  auto const failed = c.run({"clusters", "fail", "train", "--reason", "the storage is gone"});
  EXPECT_EQ(failed.status, 0) << failed.err;
  EXPECT_CONTAINS(failed.out, "train: run 1 has failed; all tasks receive the error");
  EXPECT_CONTAINS(c.run({"barriers", "show", "step/1"}).out, "the storage is gone");
  auto const shown = c.run({"clusters", "show", "train"});
  EXPECT_CONTAINS(shown.out, "FAILED");
  EXPECT_CONTAINS(shown.out, "no single task");
  EXPECT_CONTAINS(c.run({"events"}).out, "the storage is gone");
  auto const twice = c.run({"clusters", "fail", "train", "--reason", "again"});
  EXPECT_EQ(twice.status, 1);
  EXPECT_CONTAINS(twice.err, "has already ended");
}

}  // namespace
}  // namespace muster::e2e
