// Variables are stored on a parameter server, the chief initialises them, and the other tasks wait.
#include <atomic>
#include <future>

#include "muster/cluster_error.hpp"
#include "muster/log.hpp"
#include "tests/conformance/distribute/fixture.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {
namespace {

struct distribute_sessions : testing::Test {
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
  static closure_options ps() { return {.task_job = "ps", .task_index = 0}; }

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

  // Returns the steps of a single chief; `there` is the result of restore.
  std::string prepared(checkpoint from, bool there) {
    std::string done;
    run_distribute_coordinator(
        [&] {
          current_worker_context()
              ->make_session_creator({.init = [&](worker_session&) { done += "init"; },
                                      .restore =
                                          [&](worker_session& s, std::string const& path) {
                                            EXPECT_TRUE(s.coordinator().done());
                                            done += "restore " + path + " ";
                                            return there;
                                          }},
                                     {}, std::chrono::minutes(1), from)
              .create();
        },
        test_strategy({}), common());
    return done;
  }
  cluster_error::code refused(checkpoint const& from) {
    try {
      prepared(from, false);
    } catch (cluster_error const& e) {
      return e.kind();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  }

  std::atomic<int> x = 0, trained = 0;
  test_server server;
};

TEST_F(distribute_sessions, the_chief_restores_a_checkpoint_in_place_of_preparing) {
  EXPECT_EQ(prepared({}, true), "init");
  EXPECT_EQ(prepared({.directory = "/ckpt"}, true), "restore /ckpt ");
  EXPECT_EQ(prepared({.directory = "/ckpt"}, false), "restore /ckpt init") << "none is there yet";
  EXPECT_EQ(prepared({.file = "/ckpt/7"}, true), "restore /ckpt/7 ");
  EXPECT_EQ(refused({.file = "/ckpt/7"}), cluster_error::code::missing);
  EXPECT_EQ(refused({.directory = "/ckpt", .file = "/ckpt/7"}), cluster_error::code::invalid);
}

TEST_F(distribute_sessions, checkpoint_requires_a_restore_function) {
  session_creator c;
  c.server.server = server.address();
  c.checkpoint.file = "/ckpt/7";
  try {
    c.create();
    FAIL();
  } catch (cluster_error const& e) {
    EXPECT_EQ(std::string(e.what()), "a checkpoint is set, but scaffold::restore is empty");
  }
}

TEST_F(distribute_sessions, waiting_session_fails_after_the_maximum_wait) {
  int asked = 0;
  session_creator c;
  c.role = session_creator::kind::waiting;
  c.server.server = server.address();
  c.scaffold.ready = [&](worker_session&) { return ++asked > 1'000; };
  c.max_wait = std::chrono::milliseconds(150);
  auto const begun = std::chrono::steady_clock::now();
  try {
    c.create();
    FAIL() << "nobody prepared anything";
  } catch (wait_timeout const& e) {
    EXPECT_EQ(std::string(e.what()), "the chief did not prepare the job within 150 ms");
  }
  EXPECT_GE(asked, 2) << "it asks repeatedly";
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
}

TEST_F(distribute_sessions, the_server_is_waited_for_as_long_as_the_chief) {
  auto const port = server.port();
  server.stop();
  session_creator c;
  c.server.server = server.address();
  c.server.connect_timeout = std::chrono::milliseconds(1);
  c.max_wait = std::chrono::milliseconds(300);
  EXPECT_THROW(c.create(), unavailable_error);
  c.max_wait = std::chrono::minutes(1);
  auto session = std::async(std::launch::async, [&] { return c.create(); });
  EXPECT_EQ(session.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  test_server_options same_port;
  same_port.port = port;
  test_server later(same_port);
  EXPECT_TRUE(session.get()->coordinator().done());
}

TEST_F(distribute_sessions, its_kind_and_its_configuration_are_a_line_of_the_log) {
  std::vector<std::string> lines;
  std::mutex mutex;
  set_log([&](log_level, std::string_view line) {
    std::lock_guard const lock(mutex);
    if (line.starts_with("session of")) lines.emplace_back(line);
  });
  session_creator c;
  c.server.server = server.address();
  c.master = "grpc://a:1";
  c.config = {{{"x", 1}}, {"/job:ps"}, {}};
  c.create();
  c.role = session_creator::kind::waiting;
  c.server.name = "worker:1";
  c.create();
  set_log({});
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "session of a worker function: this is the chief, which prepares the job, master "
                "'grpc://a:1', configuration {\"x\":1,\"device_filters\":[\"/job:ps\"]}",
                "session of worker:1: waiting until the chief has prepared the job, master "
                "'grpc://a:1', configuration {\"x\":1,\"device_filters\":[\"/job:ps\"]}"}));
}

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
    // The last worker stops the parameter servers.
    if (worker && trained == 3) {
      std::lock_guard lock(mutex);
      for (auto const& s : all) s->stop();
    }
  });
  EXPECT_EQ(trained, 3);
}

TEST_F(distribute_sessions, standalone_testBetweenGraphWithMonitoredSession) {
  auto const cluster = three_workers_two_ps();
  std::vector<std::thread> tasks;  // processes that only serve
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
