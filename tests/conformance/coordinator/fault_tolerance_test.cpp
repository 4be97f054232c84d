// The fault tolerance suite of TensorFlow's coordinator. Server and workers are killed, frozen and
// restarted. Steps append a line to a file, so that tests can count them.
//
// Not ported, with reasons:
//   testClusterCoordinatorDestroyed         sessions have no threads
//   testHandleDatasetCreationFailureWithDataset   only functions create datasets
//   testTensorGotAfterWorkerFailure         values are stored on the server
//   testFetchFromPSAfterWorkerFailure       variables are read by closures bound to the parameter
//                                           server, as in the tests below
//   testAsyncWaitIsNoOp                     there is no global sync
//   testWorkerPreemptionErrorTypeWithPythonFunction   all functions belong to the worker
// Task states (get_task_states_test) are tested in ../tensorflow_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <thread>

#include "muster/cluster_coordinator.hpp"
#include "muster/session.hpp"
#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;

class coordinator_fault_tolerance : public testing::Test {
 protected:
  void start(int count, words flags = {}) {
    c.serve(flags);
    for (int i = 0; i < count; ++i) add_worker(i);
    ASSERT_TRUE(c.await_tasks(static_cast<std::size_t>(count)));
  }
  process& add_worker(int index) {
    auto& w = c.worker({"--index", std::to_string(index), "--slots", "1", "--allow-exec"});
    workers[index] = &w;
    return w;
  }
  void kill(int index) {
    workers[index]->signal(SIGKILL);
    ASSERT_TRUE(workers[index]->wait());
  }
  /// Returns steps that write a line at their start and at their end.
  std::string steps(int count, std::string const& seconds) {
    auto const file = c.file("steps").string();
    auto const script = "echo begin >> " + file + "; sleep " + seconds + "; echo end >> " + file;
    json::array const command{"sh", "-c", script};
    std::string lines;
    for (int i = 0; i < count; ++i) lines += json::serialize(json::array{command}) + "\n";
    auto const input = c.write("input", lines);
    auto const f = c.run({"submit", "muster.exec", "--map", input, "--no-wait"});
    EXPECT_EQ(f.status, 0) << f.err;
    return f.out.substr(0, f.out.find('\n'));
  }
  std::ptrdiff_t lines(std::string const& word) {
    std::ifstream file(c.file("steps"));
    std::ptrdiff_t n = 0;
    for (std::string line; std::getline(file, line);) n += line == word;
    return n;
  }
  bool await_begun(std::ptrdiff_t n) {
    return await([&] { return lines("begin") >= n; });
  }
  std::string state_after(std::string const& job, std::string const& limit = "30s") {
    return std::string(
        c.get("/api/v1/jobs/" + job + "/join?timeout=" + limit).at("state").as_string());
  }
  bool join_worker(int index) {
    add_worker(index);
    return await([&] {
      for (auto const& t : c.tasks())
        if (t.at("index").to_number<int>() == index && t.at("state").as_string() == "CONNECTED")
          return true;
      return false;
    });
  }

  cluster c;
  std::map<int, process*> workers;
};

TEST_F(coordinator_fault_tolerance, testWorkerPreemptionBetweenFunctions) {
  start(1);
  EXPECT_EQ(state_after(steps(2, "0")), "SUCCEEDED");
  EXPECT_EQ(lines("end"), 2);
  kill(0);
  ASSERT_TRUE(c.await_tasks(1, "ERROR"));
  ASSERT_TRUE(join_worker(0));
  EXPECT_EQ(state_after(steps(2, "0")), "SUCCEEDED");
  EXPECT_EQ(lines("end"), 4) << "nothing ran twice";
}

TEST_F(coordinator_fault_tolerance, testWorkerPreemptionMidstFunction) {
  start(1);
  auto const job = steps(4, "0.2");
  ASSERT_TRUE(await_begun(1));
  kill(0);
  ASSERT_TRUE(join_worker(0));
  EXPECT_EQ(state_after(job), "SUCCEEDED");
  EXPECT_GE(lines("end"), 4) << "at least once";
}

TEST_F(coordinator_fault_tolerance, testOneWorkerPreemptionWithCancellation) {
  start(2);
  session s({.server = c.grpc()});
  auto slow = s.call<json::value>("muster.sleep", 60'000);
  ASSERT_TRUE(await([&] {
    for (auto const& t : c.tasks())
      if (t.at("running").to_number<int>() == 1) return true;
    return false;
  }));
  int const busy = c.tasks().at(0).at("running").to_number<int>() == 1 ? 0 : 1;
  auto bad = s.call<json::value>("muster.fail", "no such column");
  EXPECT_THROW(bad.get(), closure_error);
  kill(busy);
  try {
    slow.get();
    ADD_FAILURE() << "it was cancelled";
  } catch (closure_error const& e) {
    EXPECT_EQ(e.failure().kind, failure_kind::cancelled) << e.what();
  }
  EXPECT_EQ(s.call<int>("muster.echo", 1).get(), 1) << "usable afterwards";
}

TEST_F(coordinator_fault_tolerance, testTwoWorkersPreempted) {
  start(2);
  auto const job = steps(10, "0.1");
  ASSERT_TRUE(await_begun(2));
  workers[0]->signal(SIGKILL);
  workers[1]->signal(SIGKILL);
  ASSERT_TRUE(workers[0]->wait());
  ASSERT_TRUE(workers[1]->wait());
  ASSERT_TRUE(join_worker(0));
  ASSERT_TRUE(join_worker(1));
  EXPECT_EQ(state_after(job), "SUCCEEDED");
  EXPECT_GE(lines("end"), 10);
}

TEST_F(coordinator_fault_tolerance, testWorkerContinuousFailure) {
  start(1);
  auto const job = steps(4, "0.2");
  for (int i = 1; i <= 2; ++i) {
    ASSERT_TRUE(await_begun(i));
    kill(0);
    ASSERT_TRUE(join_worker(0));
  }
  EXPECT_EQ(state_after(job), "SUCCEEDED");
  EXPECT_GE(lines("end"), 4);
}

TEST_F(coordinator_fault_tolerance, testNumpyFetchedAfterWorkerFailure) {
  start(1);
  session s({.server = c.grpc()});
  auto value = s.call<int>("muster.echo", 7);
  s.wait_all();
  kill(0);
  EXPECT_EQ(value.get(), 7) << "a value that is READY outlives its worker";
}

TEST_F(coordinator_fault_tolerance, testHandleDatasetCreationFailureWithDatasetFn) {
  start(1);
  cluster_coordinator coordinator({.server = c.grpc()});
  kill(0);
  auto const value = coordinator.create_per_worker_value("muster.worker_info");
  auto const info = coordinator.schedule<json::value>("muster.echo", value);
  ASSERT_TRUE(join_worker(0));
  EXPECT_EQ(info.fetch(std::chrono::seconds(60)).at("index"), 0) << "built after the recovery";
  EXPECT_TRUE(coordinator.join());
}

TEST_F(coordinator_fault_tolerance, testWorkerPreemptionErrorType) {
  start(1);
  auto const f =
      c.run({"submit", "muster.sleep", "60000", "--no-wait", "--max-worker-failures", "1"});
  auto const job = f.out.substr(0, f.out.find('\n'));
  ASSERT_TRUE(c.await_count(job, "running", 1)) << f.err;
  kill(0);
  ASSERT_EQ(state_after(job), "FAILED");
  auto const error = c.get("/api/v1/jobs/" + job).at("error");
  EXPECT_EQ(error.at("kind").as_string(), "WORKER_LOST");
  EXPECT_EQ(error.at("worker").as_string(), "worker:0") << "it names the worker";
}

// TensorFlow recognises these errors by their text; here they are one error kind.
TEST_F(coordinator_fault_tolerance, testPSPreemptionErrorType) {
  start(1, {"--transient-dependency-failures", "0"});
  auto const f = c.run({"submit", "muster.fail", "no answer", R"(["ps:0"])", "--no-wait"});
  auto const job = f.out.substr(0, f.out.find('\n'));
  ASSERT_EQ(state_after(job), "FAILED") << f.err;
  auto const error = c.get("/api/v1/jobs/" + job).at("error");
  EXPECT_EQ(error.at("kind").as_string(), "DEPENDENCY_LOST");
  EXPECT_EQ(error.at("dependencies"), json::value({"ps:0"}));
  EXPECT_TRUE(error.at("message").as_string().starts_with("UNAVAILABLE: ps:0 is lost"))
      << error.at("message");
}

TEST_F(coordinator_fault_tolerance,
       two_reports_of_a_lost_dependency_are_tolerated_and_the_third_is_fatal) {
  start(2);
  session s({.server = c.grpc()});
  auto lost = s.call<json::value>("muster.fail", "no answer", json::array{"ps:1"});
  try {
    lost.get();
    ADD_FAILURE() << "three reports are fatal";
  } catch (closure_error const& e) {
    EXPECT_EQ(e.failure().kind, failure_kind::dependency_lost) << e.what();
    EXPECT_EQ(e.failure().dependencies, words({"ps:1"}));
    EXPECT_EQ(e.failure().attempt, 3u) << "two were tolerated";
  }
  EXPECT_TRUE(c.await_tasks(2)) << "the workers stay";
}

TEST_F(coordinator_fault_tolerance, testPSFailureWhileRecoveryFromWokerFailure) {
  start(2);
  auto const job = steps(1, "60");
  ASSERT_TRUE(await_begun(1));
  int const busy = c.tasks().at(0).at("running").to_number<int>() == 1 ? 0 : 1;
  kill(busy);
  session s({.server = c.grpc()});
  auto lost = s.call<json::value>("muster.fail", "no answer", json::array{"ps:0"});
  ASSERT_TRUE(join_worker(busy));
  try {
    lost.get();
    ADD_FAILURE();
  } catch (closure_error const& e) {
    EXPECT_EQ(e.failure().kind, failure_kind::dependency_lost) << e.what();
  }
  c.run({"cancel", job});
}

// The parameter server is a task whose process is killed.
struct parameter_server : coordinator_fault_tolerance {
  void start_with_ps(words flags = {}) {
    c.serve(flags);
    add_worker(0);
    add_ps();
    ASSERT_TRUE(c.await_tasks(2));
  }
  void add_ps() { ps = &c.worker({"--job", "ps", "--index", "0", "--slots", "1"}); }
  void kill_ps() {
    ps->signal(SIGKILL);
    ASSERT_TRUE(ps->wait());
  }
  void create_variables(cluster_coordinator& coordinator) {
    EXPECT_EQ(coordinator.with({.task_job = "ps", .task_index = 0})
                  .schedule<int>("muster.echo", 1)
                  .fetch(),
              1);
  }
  template <class F>
  static failure lost_in(F f) {
    try {
      f();
    } catch (unavailable_error const& e) {
      EXPECT_EQ(e.failure().dependencies, words({"ps:0"})) << e.what();
      return e.failure();
    }
    ADD_FAILURE() << "no unavailable_error";
    return {};
  }
  process* ps = nullptr;
};

TEST_F(parameter_server, testJoinRaisesUnavailableErrorAtPsFailure) {
  start_with_ps();
  cluster_coordinator coordinator({.server = c.grpc()});
  create_variables(coordinator);
  auto const step = coordinator.schedule<json::value>("muster.sleep", 60'000);
  kill_ps();
  add_ps();
  auto const f = lost_in([&] { coordinator.join(); });
  EXPECT_NE(f.message.find("another worker process took its place"), std::string::npos)
      << f.message;
  create_variables(coordinator);
  EXPECT_TRUE(coordinator.join()) << "the next generation works";
}

TEST_F(parameter_server, testScheduleRaisesUnavailableErrorAtPsFailure) {
  start_with_ps({"--reconnect-grace", "500ms"});
  cluster_coordinator first({.server = c.grpc()}), second({.server = c.grpc()});
  create_variables(first);
  create_variables(second);
  kill_ps();
  lost_in([&] {
    await([&] {
      first.schedule<int>("muster.echo", 1);
      return false;
    });
  });
  auto const f = lost_in([&] { await([&] { return !second.done(); }); });
  EXPECT_NE(f.message.find("disconnected for longer than 500 ms"), std::string::npos) << f.message;
}

// The worker is not blamed for the lost parameter server.
TEST_F(parameter_server, testWorkerExecutionAfterPsFailureRaisesExpectedError) {
  start_with_ps();
  cluster_coordinator coordinator({.server = c.grpc()});
  create_variables(coordinator);
  kill_ps();
  auto const direct = coordinator.with({.task_job = "worker", .task_index = 0})
                          .schedule<json::value>("muster.fail", "no answer", json::array{"ps:0"});
  auto const f = lost_in([&] { direct.fetch(); });
  EXPECT_EQ(f.kind, failure_kind::dependency_lost);
  lost_in([&] { coordinator.join(); });
  for (auto const& t : c.tasks()) {
    if (t.at("job").as_string() == "worker") {
      EXPECT_EQ(t.at("state").as_string(), "CONNECTED");
    }
  }
}

TEST_F(parameter_server, fetch_of_a_call_bound_to_it_raises_its_loss) {
  start_with_ps();
  cluster_coordinator coordinator({.server = c.grpc()});
  create_variables(coordinator);
  auto const on_it = coordinator.with({.task_job = "ps", .task_index = 0});
  auto const running = on_it.schedule<json::value>("muster.sleep", 60'000);
  auto const queued = on_it.schedule<int>("muster.echo", 2);
  kill_ps();
  add_ps();
  lost_in([&] { queued.fetch(); });
  lost_in([&] { handle_parameter_server_failure([&] { coordinator.join(); }); });
  ASSERT_TRUE(c.await_tasks(2));
  auto const tasks = c.tasks();
  for (auto const& t : tasks) {
    if (t.at("job").as_string() != "ps") continue;
    EXPECT_EQ(t.at("finished").to_number<int>(), 1) << "nothing ran on the idle worker";
  }
}

TEST_F(parameter_server, without_stateful_jobs_bound_calls_wait_for_the_next_process) {
  start_with_ps({"--stateful-jobs", ""});
  cluster_coordinator coordinator({.server = c.grpc()});
  create_variables(coordinator);
  kill_ps();
  auto const waits =
      coordinator.with({.task_job = "ps", .task_index = 0}).schedule<int>("muster.echo", 2);
  add_ps();
  EXPECT_EQ(waits.fetch(), 2);
  EXPECT_TRUE(coordinator.join());
}

TEST_F(coordinator_fault_tolerance, testClusterStateNotDisrupted) {
  start(2);
  for (int i = 0; i < 2; ++i) {
    auto const job = steps(2, "0.1");
    ASSERT_TRUE(await_begun(4 * i + 1));
    kill(i);
    ASSERT_TRUE(join_worker(i));
    EXPECT_EQ(state_after(job), "SUCCEEDED");
    EXPECT_EQ(state_after(steps(2, "0")), "SUCCEEDED");
  }
  EXPECT_TRUE(c.await_tasks(2));
}

// Shorter than the heartbeat timeout.
TEST_F(coordinator_fault_tolerance, short_pause_is_no_loss) {
  start(1, {"--heartbeat-timeout", "6s"});
  auto const job = steps(1, "1");
  ASSERT_TRUE(await_begun(1));
  workers[0]->signal(SIGSTOP);
  std::this_thread::sleep_for(1s);
  workers[0]->signal(SIGCONT);
  EXPECT_EQ(state_after(job), "SUCCEEDED");
  EXPECT_EQ(lines("begin"), 1);
}

// The closure runs elsewhere, and its late result is discarded.
TEST_F(coordinator_fault_tolerance, long_pause_is_a_loss_and_the_late_answer_void) {
  start(1, {"--heartbeat-timeout", "1500ms", "--reconnect-grace", "1s"});
  auto const job = steps(1, "0.5");
  ASSERT_TRUE(await_begun(1));
  workers[0]->signal(SIGSTOP);
  ASSERT_TRUE(c.await_tasks(1, "ERROR"));
  ASSERT_TRUE(join_worker(1));
  EXPECT_EQ(state_after(job), "SUCCEEDED");
  workers[0]->signal(SIGCONT);
  EXPECT_TRUE(c.await_tasks(2)) << "it returns";
  auto const v = c.get("/api/v1/jobs/" + job + "/closures").at("closures").at(0);
  EXPECT_EQ(v.at("attempts").as_array().size(), 2u);
  EXPECT_EQ(v.at("attempts").at(1).at("worker").as_string(), "worker:1");
}

}  // namespace
}  // namespace muster::e2e
