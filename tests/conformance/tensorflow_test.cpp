// Features of TensorFlow's dialect only. Not ported: testCoordinationServicePreempted
// (get_task_states_test), because this service is not a task.
#include "tests/conformance/fixture.hpp"

namespace muster::test {
namespace {

class tensorflow_jobs : public testing::Test, protected served_agents {
 protected:
  coordination_agent& agent(std::string job, int task, bool recoverable = false) {
    agent_options o;
    o.dialect = wire_dialect::tensorflow;
    o.job = std::move(job);
    o.task = task;
    o.recoverable = recoverable;
    return new_agent(o);
  }
};

coordination::cluster_spec two_jobs() {
  auto spec = loose(2);
  spec.jobs.push_back({"ps", 1, false});
  return spec;
}

TEST_F(tensorflow_jobs, TestCoordinatedJobs) {
  serve(two_jobs());
  auto& w0 = agent("worker", 0);
  EXPECT_CODE(w0.connect(), OK);
  EXPECT_CODE(agent("worker", 1).connect(), OK);
  auto& ps = agent("ps", 0);
  EXPECT_CODE(ps.connect(), OK);
  EXPECT_CODE(agent("evaluator", 0).register_task().get(), INVALID_ARGUMENT);
  EXPECT_CODE(agent("ps", 1).register_task().get(), INVALID_ARGUMENT);
  auto const workers_seen = w0.watch(-1).get().tasks;
  ASSERT_EQ(workers_seen.size(), 2u);
  EXPECT_EQ(workers_seen[1].job, "worker");
  auto const ps_seen = ps.watch(-1).get().tasks;
  ASSERT_EQ(ps_seen.size(), 1u);
  EXPECT_EQ(ps_seen[0].job, "ps");
  EXPECT_EQ(ps_seen[0].id, 0);
  EXPECT_EQ(ps.get_job_state().get().tasks, ps_seen);
}

TEST_F(tensorflow_jobs, JaxCountsThroughAllJobs) {
  serve(two_jobs());
  for (auto const* job : {"jax_worker", ""}) {
    auto& third = agent(job, 2);
    EXPECT_CODE(third.connect(), OK) << job;
    auto const seen = third.watch(-1).get().tasks;
    ASSERT_EQ(seen.size(), 3u);
    EXPECT_EQ(seen[2].id, 2);
    EXPECT_EQ(seen[2].job, job);
    EXPECT_EQ(seen[2].incarnation, third.incarnation());
    EXPECT_CODE(third.shutdown().get(), OK);
  }
}

TEST_F(tensorflow_jobs, GetTaskState) {
  serve(two_jobs());
  auto& w = agent("worker", 1);
  EXPECT_CODE(w.connect(), OK);
  auto const seen = w.get_task_state({0, 1}).get().tasks;
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].state, 2);
  EXPECT_EQ(seen[1].state, 3);
  EXPECT_CODE(w.get_task_state({0, 9}).get(), INVALID_ARGUMENT);
}

// get_task_states_test: a training whose tasks are recoverable.
class task_states : public tensorflow_jobs {
 protected:
  void start() {
    auto spec = two_jobs();
    for (auto& job : spec.jobs) job.recoverable = true;
    spec.heartbeat_timeout = fast_timeout;
    serve(std::move(spec));
    for (auto* a : {&agent("worker", 0), &agent("worker", 1), &agent("ps", 0)})
      EXPECT_CODE(a->connect(), OK);
  }
  /// States of the agent's own role, for example "0:ok 1:unavailable".
  std::string states(std::size_t asked) {
    std::string all;
    for (auto const& t : agents[asked]->get_job_state().get().tasks) {
      auto const code = t.error_code == StatusCode::OK            ? "ok"
                        : t.error_code == StatusCode::UNAVAILABLE ? "unavailable"
                                                                  : "another";
      all += (all.empty() ? "" : " ") + std::to_string(t.id) + ":" + code;
    }
    return all;
  }
  bool become(std::size_t asked, std::string const& expected) {
    auto const end = std::chrono::steady_clock::now() + long_time;
    while (states(asked) != expected && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(fast_beat);
    return states(asked) == expected;
  }
};

TEST_F(task_states, testAllTasksHealthy) {
  start();
  EXPECT_EQ(states(0), "0:ok 1:ok");
  EXPECT_EQ(states(2), "0:ok");
}

TEST_F(task_states, testWorkerPreempted) {
  start();
  for (auto const i : {1, 2}) agents[static_cast<std::size_t>(i)]->beat_every(fast_beat);
  EXPECT_TRUE(become(1, "0:unavailable 1:ok")) << states(1);
  EXPECT_EQ(states(2), "0:ok");
  EXPECT_CODE(agent("worker", 0).connect(), OK);
  EXPECT_EQ(states(1), "0:ok 1:ok") << "none after a restart";
}

TEST_F(task_states, testPSPreempted) {
  start();
  for (auto const i : {0, 1}) agents[static_cast<std::size_t>(i)]->beat_every(fast_beat);
  EXPECT_TRUE(become(2, "0:unavailable")) << states(2);
  EXPECT_EQ(states(0), "0:ok 1:ok");
  EXPECT_CODE(agent("ps", 0).connect(), OK);
  EXPECT_EQ(states(2), "0:ok");
}

TEST_F(tensorflow_jobs, ListClusterDevices_TfDevice) {
  serve(two_jobs());
  auto& w0 = agent("worker", 0);
  auto& w1 = agent("worker", 1);
  auto& ps = agent("ps", 0);
  for (auto* a : {&w0, &w1, &ps}) EXPECT_CODE(a->connect(), OK);
  auto second = w1.wait_for_all({"w1/gpu0"});
  auto third = ps.wait_for_all({"ps/cpu"});
  EXPECT_TRUE(second.parked_for(a_while));
  std::vector<std::string> const all = {"ps/cpu", "w0/gpu0", "w0/gpu1", "w1/gpu0"};
  EXPECT_EQ(w0.wait_for_all({"w0/gpu0", "w0/gpu1"}).get().devices, all) << "by job, then by task";
  EXPECT_EQ(second.get().devices, all);
  EXPECT_EQ(third.get().devices, all);
}

TEST_F(tensorflow_jobs, ListClusterDevices_DevicesAreNotAddedTwice) {
  serve(loose(1));
  auto& w = agent("worker", 0);
  EXPECT_CODE(w.connect(), OK);
  EXPECT_EQ(w.wait_for_all({"gpu0"}).get().devices.size(), 1u);
  EXPECT_EQ(w.wait_for_all({"gpu0"}).get().devices.size(), 1u);
}

// Not in the original suite.
TEST_F(tensorflow_jobs, DevicesAreShownByName) {
  serve(two_jobs());
  auto& w0 = agent("worker", 0);
  auto& w1 = agent("worker", 1);
  auto& ps = agent("ps", 0);
  // DeviceAttributes: 1: name, 2: device_type.
  auto const gpu = std::string("\n\x0e/job:w/GPU:0 x\x12\x03GPU");
  auto first = w0.wait_for_all({gpu}, "type.googleapis.com/tensorflow.DeviceAttributes");
  auto second = w1.wait_for_all({gpu}, "type.googleapis.com/somebody.Else");
  ASSERT_TRUE(server->parked(2));
  EXPECT_CODE(ps.wait_for_all({"cpu", "\xff"}).get(), OK);
  auto const names = server->on_engine([](test_server::inside& s) {
    std::vector<std::vector<std::string>> all;
    for (auto const& a : s.run().views().tasks(s.agents.now(), 0, 10))
      all.push_back(a.device_names);
    return all;
  });
  ASSERT_EQ(names.size(), 3u);
  EXPECT_EQ(std::count(names.begin(), names.end(), std::vector<std::string>{"/job:w/GPU:0 x"}), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), std::vector<std::string>{"cpu"}), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), std::vector<std::string>{}), 1);
}

TEST_F(tensorflow_jobs, RecoverableAndNonRecoverableTasks) {
  serve(two_jobs());
  auto& w0 = agent("worker", 0);
  auto& ps = agent("ps", 0, true);
  EXPECT_CODE(w0.connect(), OK);
  EXPECT_CODE(ps.connect(), OK);
  auto poll = w0.poll_for_error();
  EXPECT_CODE(ps.report_error(13, "of a recoverable task").get(), OK);
  EXPECT_TRUE(poll.parked_for(a_while));
  auto& w1 = agent("worker", 1);
  EXPECT_CODE(w1.connect(), OK);
  EXPECT_CODE(w1.report_error(13, "of another").get(), OK);
  EXPECT_SAYS(poll.get(), "of another");
}

TEST_F(tensorflow_jobs, UnrecoverableTaskPropagatesError) {
  serve(loose(2));
  auto& first = agent("worker", 0);
  auto& second = agent("worker", 1);
  EXPECT_CODE(first.connect(), OK);
  EXPECT_CODE(second.connect(), OK);
  auto poll = first.poll_for_error();
  ASSERT_TRUE(server->parked(1));
  EXPECT_CODE(second.report_error(13, "broken").get(), OK);
  EXPECT_CODE(poll.get(), INTERNAL);
}

TEST_F(tensorflow_jobs, UnavailableTaskCanReconnect) {
  auto spec = watched(1);
  spec.allow_reconnect = true;
  spec.renew = false;  // otherwise a new generation would accept the task anyway
  serve(std::move(spec));
  auto& a = agent("worker", 0);
  EXPECT_CODE(a.connect(), OK);
  EXPECT_CODE(a.poll_for_error().get(), UNAVAILABLE);
  auto& back = agent("worker", 0);
  EXPECT_CODE(back.connect(), OK);
  EXPECT_CODE(back.heartbeat().get(), OK);
}

TEST_F(tensorflow_jobs, RecoverableJob) {
  auto spec = two_jobs();
  spec.jobs[1].recoverable = true;
  serve(std::move(spec));
  auto& w = agent("worker", 0);
  auto& ps = agent("ps", 0);
  EXPECT_CODE(w.connect(), OK);
  EXPECT_CODE(ps.connect(), OK);
  auto poll = w.poll_for_error();
  EXPECT_CODE(ps.report_error(13, "of a recoverable job").get(), OK);
  EXPECT_TRUE(poll.parked_for(a_while));
}

}  // namespace
}  // namespace muster::test
