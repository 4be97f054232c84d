// The distribute coordinator, including cases where TensorFlow's version fails.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "client/distribute/serving.hpp"
#include "muster/cluster_error.hpp"
#include "muster/distribute_coordinator.hpp"
#include "muster/simple_resolver.hpp"
#include "tests/client/raised_by.hpp"
#include "tests/support/text.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

using test::contains;
using test::raised_by;

environment_lookup variables(std::string tf_config = {}) {
  return [tf_config](std::string const& name) {
    return name == "TF_CONFIG" && !tf_config.empty() ? std::optional(tf_config) : std::nullopt;
  };
}

class plain_strategy : public strategy {
 public:
  explicit plain_strategy(bool between_graph = true) : between_graph_(between_graph) {}
  std::unique_ptr<strategy> copy() const override {
    return std::make_unique<plain_strategy>(*this);
  }
  void configure(session_config&, cluster_spec const*, std::optional<std::string> const&,
                 std::optional<int>) override {}
  bool between_graph() const override { return between_graph_; }
  std::shared_ptr<standard_server> running_server() const override { return running; }
  std::shared_ptr<cluster_resolver> resolver() const override { return found_by; }

  std::shared_ptr<standard_server> running;
  std::shared_ptr<cluster_resolver> found_by;

 private:
  bool between_graph_;
};

class counted_server : public standard_server {
 public:
  void start() override { ++starts; }
  void join() override { ++joins; }
  void stop() noexcept override { ++stops; }
  std::atomic<int> starts = 0, joins = 0, stops = 0;
};

struct distribute : testing::Test {
  ~distribute() override { end_standard_server_of_this_thread(); }
  distribute_options options(std::map<std::string, cluster_spec::tasks> jobs) {
    distribute_options o;
    if (!jobs.empty()) o.cluster = cluster_spec(std::move(jobs));
    o.environment = variables();
    o.servers = [this](standard_server_config const& c) {
      configs.push_back(c);
      return made;
    };
    return o;
  }
  distribute_options independent(std::map<std::string, cluster_spec::tasks> jobs, char const* type,
                                 int id) {
    auto o = options(std::move(jobs));
    o.mode = coordinator_mode::independent_worker;
    o.task_type = type;
    o.task_id = id;
    return o;
  }

  std::shared_ptr<counted_server> made = std::make_shared<counted_server>();
  std::vector<standard_server_config> configs;
};

cluster_spec::tasks const two = {{0, "a:1"}, {1, "b:1"}};

TEST_F(distribute, error_of_the_only_function_is_raised) {
  EXPECT_EQ(raised_by([&] {
              run_distribute_coordinator([] { throw std::runtime_error("no cake"); },
                                         plain_strategy(false), options({{"worker", two}}));
            }),
            "no cake");
}

TEST_F(distribute, the_first_error_stops_the_others_and_is_raised) {
  auto const start = std::chrono::steady_clock::now();
  std::atomic<int> freed = 0;
  auto const error = raised_by([&] {
    run_distribute_coordinator(
        [&] {
          auto& c = *current_worker_context();
          if (c.is_chief()) throw std::runtime_error("no cake");
          try {
            c.wait_for_others();
          } catch (barrier_error const&) {
            ++freed;
            EXPECT_TRUE(c.stop_requested());
            throw;
          }
        },
        plain_strategy(), options({{"chief", {{0, "c:1"}}}, {"worker", two}}));
  });
  EXPECT_EQ(error, "no cake");
  EXPECT_EQ(freed, 2);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 60s);
}

TEST_F(distribute, barrier_fails_if_a_task_has_returned) {
  EXPECT_TRUE(contains(raised_by([&] {
                         run_distribute_coordinator(
                             [] {
                               auto& c = *current_worker_context();
                               if (!c.is_chief()) c.wait_for_others();
                             },
                             plain_strategy(), options({{"worker", two}}));
                       }),
                       "worker:0 can no longer arrive at the barrier"));
}

TEST_F(distribute, refuses_to_run_inside_a_worker_function) {
  auto const error = raised_by([&] {
    run_distribute_coordinator(
        [&] { run_distribute_coordinator([] {}, plain_strategy(), options({})); }, plain_strategy(),
        options({}));
  });
  EXPECT_TRUE(contains(error, "cannot run distribute coordinator in a worker function [local]"))
      << error;
  EXPECT_EQ(current_worker_context(), nullptr);
}

TEST_F(distribute, running_server_of_the_strategy_is_joined) {
  plain_strategy s(false);
  auto const running = std::make_shared<counted_server>();
  s.running = running;
  run_distribute_coordinator([] { FAIL(); }, s, independent({{"worker", two}}, "worker", 1));
  EXPECT_EQ(running->joins, 1);
  run_distribute_coordinator([] { FAIL(); }, s,
                             independent({{"worker", two}, {"ps", {{0, "p:1"}}}}, "ps", 0));
  EXPECT_EQ(running->joins, 2);
  EXPECT_TRUE(configs.empty());
}

TEST_F(distribute, invalid_task_is_reported_before_a_server_starts) {
  for (auto const& [type, id] : {std::pair{"cake", 0}, {"client", 0}, {"worker", 2}, {"ps", 0}}) {
    auto const error = raised_by([&, t = type, i = id] {
      run_distribute_coordinator([] { FAIL(); }, plain_strategy(),
                                 independent({{"worker", two}}, t, i));
    });
    EXPECT_TRUE(contains(error, type)) << error;
  }
  EXPECT_TRUE(configs.empty());
}

TEST_F(distribute, local_evaluation_needs_no_strategy) {
  auto o = options({});
  bool evaluated = false;
  o.eval_fn = [&](strategy* s) { evaluated = s == nullptr; };
  run_distribute_coordinator([](strategy* s) { EXPECT_NE(s, nullptr); }, plain_strategy(), o);
  EXPECT_TRUE(evaluated);
}

TEST_F(distribute, worker_function_without_workers_is_an_error) {
  auto const error = raised_by([&] {
    run_distribute_coordinator([] { FAIL(); }, plain_strategy(false),
                               options({{"ps", {{0, "p:1"}}}}));
  });
  EXPECT_TRUE(contains(error, "chief or a worker")) << error;
}

TEST_F(distribute, tf_config_is_used_unless_a_cluster_is_given) {
  auto const text = R"({"cluster": {"worker": ["t:1", "t:2"]}, "rpc_layer": "cake",
                        "environment": "here", "task": {"type": "worker", "index": "1"}})";
  auto o = options({});
  o.mode = coordinator_mode::independent_worker;
  o.environment = variables(text);
  auto const master = [&] {
    return std::any_cast<std::string>(run_distribute_coordinator(
        [] { return current_worker_context()->master_target(); }, plain_strategy(), o));
  };
  EXPECT_EQ(master(), "cake://t:2");
  EXPECT_EQ(configs.at(0).environment, "here");
  end_standard_server_of_this_thread();
  o.cluster = cluster_spec({{"worker", two}});
  o.task_type = "worker";
  o.task_id = 0;
  EXPECT_EQ(master(), "cake://a:1") << "the RPC layer is still that of TF_CONFIG";
}

TEST_F(distribute, missing_task_index_is_an_error) {
  auto o = options({});
  o.environment = variables(R"({"cluster": {"worker": ["t:1"]}, "task": {"type": "worker"}})");
  o.mode = coordinator_mode::independent_worker;
  auto const error =
      raised_by([&] { run_distribute_coordinator([] { FAIL(); }, plain_strategy(), o); });
  EXPECT_TRUE(contains(error, "task.index")) << error;
  o.task_id = 0;
  bool ran = false;
  run_distribute_coordinator([&] { ran = true; }, plain_strategy(), o);
  EXPECT_TRUE(ran);
}

TEST_F(distribute, resolver_of_the_strategy_is_asked_last) {
  plain_strategy s;
  s.found_by = std::make_shared<simple_resolver>(cluster_spec({{"worker", two}}));
  s.found_by->task_type("worker");
  s.found_by->task_id(1);
  auto o = options({});
  o.mode = coordinator_mode::independent_worker;
  std::string master;
  run_distribute_coordinator([&] { master = current_worker_context()->master_target(); }, s, o);
  EXPECT_EQ(master, "grpc://b:1");
}

TEST_F(distribute, thread_has_one_server_and_the_same_call_returns_it) {
  for (int i = 0; i < 2; ++i)
    run_distribute_coordinator([] {}, plain_strategy(),
                               independent({{"worker", two}}, "worker", 0));
  EXPECT_EQ(configs.size(), 1u);
  EXPECT_EQ(made->starts, 1);
  auto const error = raised_by([&] {
    run_distribute_coordinator([] {}, plain_strategy(),
                               independent({{"worker", two}}, "worker", 1));
  });
  EXPECT_TRUE(contains(error, "worker:0 with another task")) << error;
  end_standard_server_of_this_thread();
  EXPECT_EQ(made->stops, 1);
  run_distribute_coordinator([] {}, plain_strategy(), independent({{"worker", two}}, "worker", 1));
  EXPECT_EQ(configs.size(), 2u);
}

TEST_F(distribute, standard_server_names_missing_parts_of_tf_config) {
  auto const error = [&](std::string text) {
    return raised_by([&] {
      run_standard_server({.servers = options({}).servers, .environment = variables(text)});
    });
  };
  EXPECT_TRUE(contains(error("{}"), "\"cluster\" is missing"));
  EXPECT_TRUE(contains(error(R"({"cluster": {"worker": ["a:1"]}})"), "\"task\" is missing"));
  EXPECT_TRUE(contains(error(R"({"cluster": {"worker": ["a:1"]}, "task": {"index": 0}})"),
                       "has no member \"type\""));
  EXPECT_TRUE(contains(error(R"({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps"}})"),
                       "must have chief or worker"));
  EXPECT_EQ(error(R"({"cluster": {"chief": ["a:1"], "ps": ["b:1"], "evaluator": ["e:1"]},
                      "task": {"type": "ps"}, "environment": "here"})"),
            "");
  EXPECT_EQ(configs.at(0).session.collective_group_leader, "/job:chief/replica:0/task:0");
  EXPECT_EQ(configs.at(0).environment, "here");
  EXPECT_FALSE(configs.at(0).cluster.has_job("evaluator"));
  EXPECT_EQ(made->starts, 1);
}

TEST_F(distribute, only_workers_and_ps_can_start_a_server) {
  simple_resolver r(cluster_spec({{"worker", two}, {"chief", {{0, "c:1"}}}}));
  auto const servers = options({}).servers;
  r.task_type("chief");
  EXPECT_TRUE(contains(raised_by([&] { start_server(r, "", servers); }), "'chief'"));
  r.task_type("worker");
  r.task_id(1);
  start_server(r, "cake", servers);
  EXPECT_EQ(configs.at(0).target(), "cake://b:1");
  EXPECT_EQ(made->joins, 1);
}

TEST_F(distribute, a_server_without_a_muster_server_is_refused) {
  ::unsetenv("MUSTER_COORDINATOR");
  auto o = independent({{"worker", two}}, "worker", 0);
  o.servers = worker_servers();
  EXPECT_TRUE(
      contains(raised_by([&] { run_distribute_coordinator([] { FAIL(); }, plain_strategy(), o); }),
               "MUSTER_COORDINATOR"));
}

TEST_F(distribute, modes_are_parsed_by_name) {
  EXPECT_EQ(parse_coordinator_mode("independent_worker"), coordinator_mode::independent_worker);
  EXPECT_TRUE(contains(raised_by([] { parse_coordinator_mode("cake"); }),
                       "unexpected coordinator mode 'cake'"));
}

struct counting_server : standard_server {
  void start() override {}
  void join() override {
    ::raise(SIGTERM);
    while (stops < 1) std::this_thread::yield();
    ::raise(SIGTERM);
    while (stops < 2) std::this_thread::yield();
  }
  void stop() noexcept override { ++stops; }
  std::atomic<int> stops = 0;
};

TEST(standard_server, every_sigterm_stops_the_server_that_is_joined) {
  counting_server server;
  ::muster::distribute::serve_until_end(server);
  struct sigaction now {};
  ::sigaction(SIGTERM, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
  EXPECT_EQ(server.stops, 2);
}

}  // namespace
}  // namespace muster
