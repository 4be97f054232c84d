// Sessions over a real server: variables live on a ps, the chief initialises them, the others wait
// for that, and each task's own server runs what its session schedules.
#include <atomic>

#include "tests/conformance/distribute/fixture.hpp"
#include "tests/rpc/test_server.hpp"

namespace muster::test {
namespace {

struct distribute_sessions : testing::Test {
  // The functions of every task's server: of one variable, and who it is.
  standard_server_factory real_servers() {
    return worker_servers({.server = server.address(), .functions = [this](worker& w) {
                             w.function("set", [this](int value) { x = value; });
                             w.function("add", [this](int by) { return x += by; });
                             w.function("get", [this] { return x.load(); });
                             w.function("where", [](context& c) {
                               return c.job() + ":" + std::to_string(c.index());
                             });
                           }});
  }
  distribute_options common() {
    distribute_options o;
    o.environment = no_environment();
    o.servers = real_servers();
    o.server = server.address();
    return o;
  }
  // Closures that go to the ps.
  static closure_options ps() { return {.task_job = "ps", .task_index = 0}; }

  // What the worker function of a training with parameter servers does.
  void train(std::function<void()> const& together) {
    auto& c = *current_worker_context();
    auto const creator = c.make_session_creator(
        {.init =
             [](worker_session& s) {
               s.coordinator().with(ps()).schedule<void>("set", 10).fetch();
             },
         .ready =
             [](worker_session& s) {
               return s.coordinator().with(ps()).schedule<int>("get").fetch() >= 10;
             }});
    EXPECT_EQ(creator.role == session_creator::kind::chief, c.is_chief());
    auto const session = creator.create();
    EXPECT_EQ(session->on_own_task().schedule<std::string>("where").fetch(),
              "worker:" + std::to_string(*c.task_id()));
    together();
    session->coordinator().with(ps()).schedule<int>("add", *c.task_id() + 1).fetch();
    together();
    EXPECT_EQ(session->coordinator().with(ps()).schedule<int>("get").fetch(), 16);
    ++trained;
  }

  std::atomic<int> x = 0, trained = 0;
  test_server server;
};

TEST_F(distribute_sessions, independent_testBetweenGraphWithMonitoredSession) {
  worker_barrier workers({"worker:0", "worker:1", "worker:2"});
  std::vector<std::shared_ptr<standard_server>> all;
  std::mutex mutex;
  auto o = common();
  o.servers = [&, make = real_servers()](standard_server_config const& c) {
    auto s = make(c);
    std::lock_guard lock(mutex);
    return all.emplace_back(s);
  };
  run_independent_tasks(three_workers_two_ps(), o, [&](distribute_options mine) {
    bool const worker = *mine.task_type == "worker";
    auto const id = static_cast<std::size_t>(*mine.task_id);
    run_distribute_coordinator([&] { train([&] { workers.wait(id, std::chrono::seconds(60)); }); },
                               test_strategy({.between_graph = true}), mine);
    // Once training is over the parameter servers are stopped.
    if (worker && trained == 3) {
      std::lock_guard lock(mutex);
      for (auto const& s : all) s->stop();
    }
  });
  EXPECT_EQ(trained, 3);
}

TEST_F(distribute_sessions, standalone_testBetweenGraphWithMonitoredSession) {
  auto const cluster = three_workers_two_ps();
  std::vector<std::thread> tasks;  // the processes that only serve
  std::vector<std::shared_ptr<standard_server>> all;
  std::mutex mutex;
  for (auto const& [job, indices] : cluster.by_job())
    for (auto const& [index, address] : indices) {
      auto o = common();
      o.cluster = cluster;
      o.task_type = job;
      o.task_id = index;
      o.servers = [&, make = real_servers()](standard_server_config const& c) {
        auto s = make(c);
        std::lock_guard lock(mutex);
        return all.emplace_back(s);
      };
      tasks.emplace_back([o] {
        run_distribute_coordinator([] { FAIL(); }, test_strategy({.between_graph = true}), o);
      });
    }
  auto o = common();
  o.cluster = cluster;
  run_distribute_coordinator([&] { train([] { current_worker_context()->wait_for_others(); }); },
                             test_strategy({.between_graph = true}), o);
  EXPECT_EQ(trained, 3);
  {
    std::lock_guard lock(mutex);
    ASSERT_EQ(all.size(), 5u);
    for (auto const& s : all) s->stop();
  }
  for (auto& t : tasks) t.join();
}

}  // namespace
}  // namespace muster::test
