#include <atomic>
#include <future>

#include "muster/log.hpp"
#include "tests/conformance/distribute/fixture.hpp"

namespace muster::test {
namespace {

struct distribute_independent : testing::Test {
  distribute_options common() {
    distribute_options o;
    o.environment = no_environment();
    o.servers = made.factory();
    return o;
  }
  void run(strategy_traits t, cluster_spec const& cluster) {
    run_independent_tasks(cluster, common(), [&](distribute_options o) {
      run_distribute_coordinator([this] { seen.note(); }, test_strategy(t), std::move(o));
    });
  }
  std::string joined() const {
    std::string names;
    for (auto const& [name, s] : made.all()) names += s.joined ? name + " " : "";
    return names;
  }

  servers made;
  contexts seen;
};

TEST_F(distribute_independent, testInGraph) {
  std::atomic<int> calls = 0;
  run_independent_tasks(three_workers_two_ps(), common(), [&](distribute_options o) {
    bool const first = *o.task_type == "worker" && *o.task_id == 0;
    auto const result =
        run_distribute_coordinator([&] { return ++calls; }, test_strategy({}), std::move(o));
    EXPECT_EQ(result.has_value(), first);
  });
  EXPECT_EQ(calls, 1);
}

TEST_F(distribute_independent, testBetweenGraph) {
  worker_barrier together({"worker:0", "worker:1", "worker:2"});
  std::atomic<int> x = 0, right = 0;
  run_independent_tasks(three_workers_two_ps(), common(), [&](distribute_options o) {
    bool const worker = *o.task_type == "worker";
    auto const result = run_distribute_coordinator(
        [&] {
          auto& c = *current_worker_context();
          auto const id = static_cast<std::size_t>(*c.task_id());
          EXPECT_FALSE(c.has_barrier());
          c.wait_for_others();
          if (c.is_chief()) x = 10;
          together.wait(id, std::chrono::seconds(30));
          x += *c.task_id() + 1;
          together.wait(id, std::chrono::seconds(30));
          right += x == 16 ? 1 : 0;
          return *c.task_id();
        },
        test_strategy({.between_graph = true}), std::move(o));
    EXPECT_EQ(result.has_value(), worker);
  });
  EXPECT_EQ(right, 3);
  EXPECT_EQ(joined(), "ps:0 ps:1 ");
}

TEST_F(distribute_independent, testBetweenGraphContext) {
  run({.between_graph = true}, three_workers_two_ps());
  auto const all = seen.all();
  ASSERT_EQ(all.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    auto const& c = all.at("worker:" + std::to_string(i));
    EXPECT_EQ(c.master, "grpc://w:" + std::to_string(i + 1));
    EXPECT_EQ(c.num_workers, 3);
    EXPECT_EQ(c.is_chief, i == 0);
    EXPECT_TRUE(c.distributed);
    EXPECT_EQ(made.all().at("worker:" + std::to_string(i)).starts, 1);
  }
  EXPECT_EQ(made.all().size(), 5u);
  EXPECT_EQ(joined(), "ps:0 ps:1 ") << "no worker's server is waited for";
}

TEST_F(distribute_independent, testBetweenGraphStrategyProperties) {
  run({.between_graph = true, .init = true}, three_workers_two_ps());
  for (auto const& [name, c] : seen.all()) {
    EXPECT_TRUE(c.init) << name;
    EXPECT_EQ(c.checkpoint, name == "worker:0") << name;
    EXPECT_EQ(c.summary, name == "worker:0") << name;
  }
  EXPECT_EQ(seen.all().size(), 3u);
}

TEST_F(distribute_independent, testInGraphContext) {
  run({}, three_workers_two_ps());
  auto const all = seen.all();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all.at("").master, "grpc://w:1");
  EXPECT_EQ(all.at("").num_workers, 3);
  EXPECT_TRUE(all.at("").is_chief);
  EXPECT_EQ(made.all().size(), 5u);
  EXPECT_EQ(joined(), "ps:0 ps:1 worker:1 worker:2 ");
}

TEST_F(distribute_independent, testInGraphContextWithEval) {
  run({}, three_workers_two_ps({{"evaluator", {{0, "e:1"}}}}));
  auto const all = seen.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.at("").num_workers, 3);
  EXPECT_TRUE(all.at("evaluator:0").is_chief);
  EXPECT_FALSE(all.at("evaluator:0").distributed);
  EXPECT_EQ(made.all().size(), 5u) << "an evaluator has no server";
  for (auto const& [name, s] : made.all())
    EXPECT_FALSE(s.config.cluster.has_job("evaluator")) << name << " sees no evaluator";
}

TEST_F(distribute_independent, between_graph_with_an_evaluator) {
  run({.between_graph = true}, three_workers_two_ps({{"evaluator", {{0, "e:1"}}}}));
  auto const all = seen.all();
  ASSERT_EQ(all.size(), 4u);
  for (int i = 0; i < 3; ++i) {
    auto const& c = all.at("worker:" + std::to_string(i));
    EXPECT_EQ(c.num_workers, 3) << "it is not a worker";
    EXPECT_EQ(c.is_chief, i == 0);
  }
  EXPECT_TRUE(all.at("evaluator:0").is_chief);
  EXPECT_FALSE(all.at("evaluator:0").distributed);
  EXPECT_EQ(made.all().size(), 5u) << "an evaluator has no server";
  EXPECT_EQ(joined(), "ps:0 ps:1 ");
}

environment_lookup tf_config(std::string text) {
  return [text](std::string const& name) {
    return name == "TF_CONFIG" ? std::optional(text) : std::nullopt;
  };
}

TEST_F(distribute_independent, testRunStdServerInGoogleEnvironment) {
  distribute_options o;
  o.mode = coordinator_mode::independent_worker;
  o.environment = tf_config(R"({"cluster": {"worker": ["w:1"], "ps": ["p:1"]},
                                "task": {"type": "ps", "index": 0}, "environment": "google"})");
  std::shared_ptr<standard_server> made_here;
  std::promise<void> made_one;
  o.servers = [&](standard_server_config const& c) {
    made_here = worker_servers({.server = "127.0.0.1:1"})(c);
    made_one.set_value();
    return made_here;
  };
  std::atomic<bool> over = false;
  std::thread ps([&] {
    run_distribute_coordinator([] { FAIL(); }, test_strategy({.between_graph = true}), o);
    over = true;
  });
  made_one.get_future().wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(over) << "it waits for a server of another task";
  made_here->stop();
  ps.join();
  EXPECT_TRUE(over);
}

TEST_F(distribute_independent, testRpcLayerEnvironmentVariable) {
  auto o = common();
  o.mode = coordinator_mode::independent_worker;
  o.environment = tf_config(R"({"cluster": {"worker": ["w:1"], "ps": ["p:1"]},
                                "task": {"type": "ps", "index": 0}, "rpc_layer": "cake"})");
  std::thread([&] {
    run_distribute_coordinator([] { FAIL(); }, test_strategy({.between_graph = true}), o);
  }).join();
  EXPECT_EQ(made.all().at("ps:0").config.rpc_layer, "cake");
  EXPECT_EQ(made.all().at("ps:0").config.target(), "cake://p:1");
}

struct distribute_config : distribute_independent {
  distribute_options task(char const* type, int id) {
    auto o = common();
    o.mode = coordinator_mode::independent_worker;
    o.cluster = cluster_spec({{"worker", {{0, "w:1"}, {1, "w:2"}}}, {"ps", {{0, "p:1"}}}});
    o.task_type = type;
    o.task_id = id;
    return o;
  }
};

// The original suite does not test logs.
TEST_F(distribute_config, the_start_is_one_line_with_mode_cluster_and_task) {
  std::vector<std::string> lines;
  std::mutex mutex;
  set_log([&](log_level, std::string_view line) {
    std::lock_guard const lock(mutex);
    lines.emplace_back(line);
  });
  std::thread([this] {
    run_distribute_coordinator([] {}, test_strategy({.between_graph = true}), task("worker", 0));
    auto o = task("worker", 0);
    o.cluster.reset();
    o.task_type.reset();
    run_distribute_coordinator([] {}, test_strategy({}), o);
  }).join();
  set_log({});
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines.at(0), "distribute coordinator: mode independent_worker, cluster " +
                             task("worker", 0).cluster->to_json() +
                             ", task worker:0, rpc layer grpc, environment none");
  EXPECT_TRUE(lines.at(1).starts_with("starting standard server grpc://")) << lines.at(1);
  EXPECT_NE(lines.at(1).find(", configuration {"), std::string::npos) << lines.at(1);
  EXPECT_EQ(lines.at(2), "distribute coordinator: running locally, because no cluster is defined");
}

// TensorFlow returns without a message.
TEST_F(distribute_config, missing_barrier_is_logged_once) {
  std::vector<std::string> warnings;
  std::mutex mutex;
  set_log([&](log_level level, std::string_view line) {
    std::lock_guard const lock(mutex);
    if (level == log_level::warning) warnings.emplace_back(line);
  });
  std::thread([this] {
    run_distribute_coordinator(
        [] {
          current_worker_context()->wait_for_others();
          current_worker_context()->wait_for_others();
        },
        test_strategy({.between_graph = true}), task("worker", 0));
  }).join();
  set_log({});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].starts_with("wait_for_others() does not wait: [cluster_spec: "))
      << warnings[0];
}

TEST_F(distribute_config, test_session_config_in_std_server) {
  std::thread([this] {
    run_distribute_coordinator([] {}, test_strategy({.between_graph = true}), task("worker", 0));
  }).join();
  auto const c = made.all().at("worker:0").config.session;
  EXPECT_TRUE(c.device_filters.empty()) << "a server is for any strategy";
  EXPECT_EQ(configured_for_a_task(c), 1);
}

TEST_F(distribute_config, test_session_config_in_session_creator) {
  session_config in_session;
  std::thread([&] {
    run_distribute_coordinator(
        [&] { in_session = current_worker_context()->make_session_creator().config; },
        test_strategy({.between_graph = true}), task("worker", 0));
  }).join();
  EXPECT_EQ(in_session.device_filters, (std::vector<std::string>{"/job:worker/task:0", "/job:ps"}));
  EXPECT_EQ(configured_for_a_task(in_session), 2) << "for the server, and for the function";
}

TEST_F(distribute_config, test_eval_strategy_configure) {
  auto o = task("evaluator", 0);
  test_strategy const eval({.between_graph = true});
  o.eval_strategy = &eval;
  o.eval_fn = [this] { seen.note(); };
  std::thread([&] {
    run_distribute_coordinator([] { FAIL(); }, test_strategy({.between_graph = true}), o);
  }).join();
  auto const e = seen.all().at("evaluator:0");
  EXPECT_EQ(configured_without_one(e.config), 2) << "with the configuration only";
  EXPECT_EQ(configured_for_a_task(e.config), 0);
  EXPECT_EQ(e.config.device_filters, (std::vector<std::string>{"/job:somejob"}));
}

TEST_F(distribute_config, test_std_server_arguments) {
  std::thread([this] {
    run_standard_server({.servers = made.factory(),
                         .environment = tf_config(R"({"cluster": {"worker": ["w:1", "w:2"]},
                                                      "task": {"type": "worker"}})")});
  }).join();
  auto const s = made.all().at("worker:0");
  EXPECT_EQ(s.config.session.collective_group_leader, "/job:worker/replica:0/task:0");
  EXPECT_EQ(s.config.rpc_layer, "grpc");
  EXPECT_EQ(s.config.task_id, 0);
  EXPECT_EQ(s.starts, 1);
}

}  // namespace
}  // namespace muster::test
