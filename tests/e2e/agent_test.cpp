#include <gtest/gtest.h>
#include <signal.h>

#include <future>
#include <muster/coordination_agent.hpp>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

coordination_options as_task(cluster const& c, std::uint32_t task) {
  coordination_options o;
  o.server = c.grpc();
  o.task = task;
  o.heartbeat_timeout = 1s;
  return o;
}

template <class F>
auto beside(F f) {
  return std::async(std::launch::async, std::move(f));
}

TEST(agent, death_of_a_task_is_reported_to_the_other_by_name) {
  cluster c;
  c.serve({"--cluster", "train:worker=2;heartbeat_timeout=3s"});
  auto& other = c.program({MUSTER_EXAMPLES "agent", "1", c.grpc()});
  std::promise<agent_error> told;
  auto o = as_task(c, 0);
  o.on_error = [&](agent_error const& e) { told.set_value(e); };
  coordination_agent a(o);
  a.connect();
  a.set("address/0", "here");
  a.barrier("addresses are known", 20s);
  EXPECT_EQ(a.get("address/1", 20s), "10.0.0.1:4711");
  auto waiting = beside([&] { return a.get("never", 30s); });
  EXPECT_FALSE(a.wait_for_error(3'500ms)) << "both send heartbeats";
  other.signal(SIGKILL);
  auto error = told.get_future();
  ASSERT_EQ(error.wait_for(20s), std::future_status::ready);
  auto const e = error.get();
  EXPECT_EQ(e.task(), 1u);
  EXPECT_EQ(e.code(), coordination_code::unavailable);
  EXPECT_NE(std::string(e.what()).find("/job:worker/task:1"), std::string::npos) << e.what();
  EXPECT_THROW(waiting.get(), agent_error);
}

TEST(agent, devices_are_shown_by_name) {
  cluster c;
  c.serve({"--cluster", "train:worker=1"});
  coordination_agent a(as_task(c, 0));
  a.connect();
  EXPECT_EQ(a.wait_for_all({"TPU_0", "TPU_1"}, 20s).size(), 2u);
  auto const shown = c.run({"tasks"}).out;
  EXPECT_NE(shown.find("2 devices: TPU_0, TPU_1"), std::string::npos) << shown;
  a.shutdown();
}

TEST(agent, reconnects_after_a_server_restart) {
  cluster c;
  auto const flags = words{"--cluster", "train:worker=1;shutdown_timeout=0s"};
  auto& server = c.serve(flags);
  coordination_agent a(as_task(c, 0));
  a.connect();
  auto const first = a.incarnation();
  auto waiting = beside([&] { return a.wait_for_error(20s); });
  server.signal(SIGKILL);
  ASSERT_TRUE(server.wait());
  c.serve(flags);
  auto const e = waiting.get();
  ASSERT_TRUE(e.has_value());
  EXPECT_NE(std::string(e->what()).find("was restarted"), std::string::npos) << e->what();
  a.connect();
  EXPECT_NE(a.incarnation(), first);
  a.set("k", "v");
  EXPECT_EQ(c.run({"kv", "wait", "k"}).out, "v");
  a.shutdown();
}

TEST(agent, shell_script_joins_a_barrier) {
  cluster c;
  c.serve({"--cluster", "train:worker=3;register_barrier=false;shutdown_timeout=0s"});
  coordination_agent zero(as_task(c, 0)), one(as_task(c, 1));
  zero.connect();
  one.connect();
  auto other = beside([&] { return one.barrier("data/ready", 30s); });
  auto const script = c.write("script.sh", R"(set -e
    "$MUSTER" kv put data/place here
    "$MUSTER" barriers wait data/ready --cluster train --task worker:2 --timeout 30s
    "$MUSTER" kv wait data/answer --timeout 30s
  )");
  auto& shell =
      c.program({"/bin/sh", script}, {{"MUSTER", MUSTER_BINARY}, {"MUSTER_URL", c.url()}});
  EXPECT_EQ(zero.barrier("data/ready", 30s), 0);
  EXPECT_EQ(other.get(), 0);
  zero.set("data/answer", "42");
  EXPECT_EQ(shell.wait(), 0) << shell.errors();
  EXPECT_EQ(shell.output(), "barrier data/ready has passed\n42") << shell.errors();
}

TEST(agent, task_that_is_usually_late_is_named) {
  cluster c;
  c.serve({"--cluster", "train:worker=2;register_barrier=false;shutdown_timeout=0s"});
  EXPECT_EQ(c.run({"barriers", "stragglers"}).out, "");
  coordination_agent zero(as_task(c, 0)), one(as_task(c, 1));
  zero.connect();
  one.connect();
  auto const arrived = [&](std::string const& step) {
    return await([&] {
      return c.run({"barriers", "show", step}).out.find("arrived   1 of 2") != std::string::npos;
    });
  };
  for (std::string const step : {"step_1", "step_2"}) {
    auto first = beside([&] { return zero.barrier(step, 30s); });
    ASSERT_TRUE(arrived(step));
    EXPECT_EQ(one.barrier(step, 30s), 0);
    EXPECT_EQ(first.get(), 0);
  }
  auto const shown = c.run({"barriers", "stragglers"}).out;
  EXPECT_NE(shown.find("Over the newest 2 barriers of run 1"), std::string::npos) << shown;
  auto const line = shown.substr(shown.find("worker:1"));
  EXPECT_NE(line.substr(0, line.find('\n')).find("127.0.0.1"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("worker:0"), std::string::npos) << shown;
  EXPECT_NE(c.run({"barriers", "stragglers", "--output", "json"}).out.find("late_mean_ms"),
            std::string::npos);
}

TEST(agent, killed_script_rejoins_its_barrier) {
  cluster c;
  c.serve({"--cluster", "train:worker=2;register_barrier=false;shutdown_timeout=0s"});
  auto const entered = [&](std::string const& count) {
    return await([&] {
      return c.run({"barriers", "show", "b"}).out.find("arrived   " + count) != std::string::npos;
    });
  };
  words const wait{"barriers", "wait", "b", "--task", "worker:1", "--timeout", "60s"};
  auto& first = c.spawn(wait, {{"MUSTER_URL", c.url()}});
  ASSERT_TRUE(entered("1 of 2"));
  first.signal(SIGKILL);
  EXPECT_TRUE(await([&] { return c.run({"barriers", "show", "b"}).status == 1; }));
  coordination_agent zero(as_task(c, 0));
  zero.connect();
  auto waiting = beside([&] { return zero.barrier("b", 30s); });
  EXPECT_EQ(c.run(wait).status, 0);
  EXPECT_EQ(waiting.get(), 0);
}

TEST(agent, failed_wait_of_a_script_reports_the_reason) {
  cluster c;
  c.serve({"--cluster", "train:worker=2"});
  struct {
    words typed;
    int status;
    char const* why;
  } const all[] = {
      {{"barriers", "wait"}, 2, "ID is missing"},
      {{"barriers", "wait", "b"}, 2, "--task is missing"},
      {{"barriers", "wait", "b", "--task", "worker"}, 1, "such as worker:3"},
      {{"barriers", "wait", "b", "--task", "worker:7"}, 1, "has no task worker:7"},
      {{"barriers", "wait", "b", "--task", "worker:0", "--timeout", "50ms"},
       1,
       "not all tasks arrived at barrier 'b' within 50ms: Barrier b: 1 of 2"},
      {{"kv", "wait", "nope", "--timeout", "50ms"}, 1, "was not set within 50ms"},
  };
  for (auto const& one : all) {
    auto const f = c.run(one.typed);
    EXPECT_EQ(f.status, one.status) << f.err;
    EXPECT_NE(f.err.find(one.why), std::string::npos) << f.err;
  }
}

}  // namespace
}  // namespace muster::e2e
