#include "tests/client/agent_fixture.hpp"
#include "tests/support/proxy.hpp"

namespace muster::test {
namespace {

struct told_errors {
  std::promise<agent_error> first;
  std::future<agent_error> future = first.get_future();
  auto handler() {
    return [this](agent_error const& e) { first.set_value(e); };
  }
  agent_error get() {
    if (future.wait_for(long_time) != std::future_status::ready)
      throw std::logic_error("no error was told");
    return future.get();
  }
};

TEST(agent_life, death_of_one_task_is_reported_to_the_other) {
  test_server server(agents(2, 500ms));
  told_errors told;
  auto both = connected(server.address(), 2, [&](coordination_options& o) {
    o.heartbeat_timeout = 500ms;
    if (o.task == 0) o.on_error = told.handler();
  });
  EXPECT_EQ(both[0]->error(), std::nullopt);
  EXPECT_FALSE(both[0]->wait_for_error(1ms).has_value());
  auto polling = beside([&] { return both[0]->wait_for_error(long_time); });
  auto waiting = beside([&] { return both[0]->barrier("b", long_time); });
  ASSERT_TRUE(server.parked(3));
  both.pop_back();
  auto const e = told.get();
  EXPECT_EQ(e.code(), coordination_code::unavailable) << e.what();
  EXPECT_EQ(e.task(), 1u);
  EXPECT_FALSE(e.reported());
  EXPECT_EQ(raised_by<agent_error>([&] { waiting.get(); }).task(), 1u);
  EXPECT_EQ(polling.get().value().task(), 1u);
  EXPECT_EQ(both[0]->state(), agent_state::failed);
  EXPECT_EQ(both[0]->error().value().task(), 1u);
  EXPECT_THROW(both[0]->try_get("k"), agent_error);
}

TEST(agent_life, an_agent_with_default_options_adopts_the_heartbeat_timeout_of_its_cluster) {
  test_server server(agents(1, 400ms));
  coordination_options o = as_task(server.address(), 0);
  o.heartbeat_timeout = coordination_options{}.heartbeat_timeout;
  muster::coordination_agent a(o);
  a.connect();
  std::this_thread::sleep_for(1500ms);
  EXPECT_EQ(a.state(), agent_state::connected) << a.error()->what();
  a.shutdown();
}

// Neither client polls, and silence is detected after 20 s. The closed connection reports the
// failure, for the main port and for a cluster's own port.
TEST(agent_life, heartbeat_reports_the_death_of_another_task) {
  auto spec = agents(2);
  spec.errors = coordination::error_delivery::heartbeat;
  spec.connection_grace = 300ms;
  auto other = spec;
  other.name = "other";
  test_server server({.clusters = {spec, other}});
  for (auto const* name : {"default", "other"}) {
    told_errors told;
    auto both = connected(server.address(name), 2, [&](coordination_options& o) {
      o.heartbeat_timeout = 500ms;
      if (o.task == 0) o.on_error = told.handler();
    });
    EXPECT_EQ(both[0]->state(), agent_state::connected);
    both.pop_back();
    auto const e = told.get();
    EXPECT_NE(std::string(e.what()).find("were closed"), std::string::npos) << e.what();
    EXPECT_EQ(e.task(), 1u);
  }
}

TEST(agent_life, error_is_reported_to_all_tasks_and_a_new_run_begins) {
  test_server server(agents(2));
  told_errors told;
  auto const both = connected(server.address(), 2, [&](coordination_options& o) {
    if (o.task == 1) o.on_error = told.handler();
  });
  auto other = beside([&] { return both[1]->barrier("b", long_time); });
  both[0]->barrier("b", long_time);
  other.get();
  auto const before = both[1]->incarnation();
  auto const run = both[1]->service_incarnation();
  both[0]->report_error(coordination_code::data_loss, "a bad disk");
  auto const e = told.get();
  EXPECT_EQ(e.code(), coordination_code::data_loss);
  EXPECT_EQ(e.task(), 0u);
  EXPECT_TRUE(e.reported());
  EXPECT_NE(std::string(e.what()).find("a bad disk"), std::string::npos);
  EXPECT_EQ(both[0]->state(), agent_state::failed);

  auto connecting = beside([&] { both[1]->connect(); });
  both[0]->connect();
  connecting.get();
  EXPECT_NE(both[1]->incarnation(), before);
  EXPECT_NE(both[1]->service_incarnation(), run);
  EXPECT_EQ(both[1]->error(), std::nullopt);
  auto again = beside([&] { return both[1]->barrier("b", long_time); });
  EXPECT_EQ(both[0]->barrier("b", long_time), 0);
  EXPECT_EQ(again.get(), 0);
}

TEST(agent_life, error_handler_must_not_block) {
  test_server server(agents(1));
  std::promise<bool> refused;
  std::unique_ptr<muster::coordination_agent> a;
  auto o = as_task(server.address(), 0);
  o.on_error = [&](agent_error const&) {
    try {
      a->connect();
      refused.set_value(false);
    } catch (std::logic_error const&) {
      refused.set_value(true);
    }
  };
  a = std::make_unique<muster::coordination_agent>(o);
  a->connect();
  a->report_error(coordination_code::unknown, "x");
  EXPECT_TRUE(refused.get_future().get());
}

TEST(agent_life, broken_connection_is_not_an_error) {
  test_server server(agents(2));
  proxy wire(server.address());
  auto const both = connected(wire.address(), 2);
  auto meeting = beside([&] { return both[0]->barrier("b", long_time); });
  auto getting = beside([&] { return both[0]->get("k", long_time); });
  ASSERT_TRUE(server.parked(4));
  wire.reset();
  ASSERT_TRUE(server.eventually([](test_server::inside& s) { return s.run().parked_calls() < 4; }));
  ASSERT_TRUE(server.parked(4));  // all of them reconnected
  both[1]->set("k", "v");
  EXPECT_EQ(getting.get(), "v");
  EXPECT_EQ(both[1]->barrier("b", long_time), 0);
  EXPECT_EQ(meeting.get(), 0);
  EXPECT_EQ(both[0]->state(), agent_state::connected);
}

TEST(agent_life, silence_for_the_whole_timeout_is_an_error) {
  test_server server(agents(1));
  proxy wire(server.address());
  told_errors told;
  auto const all = connected(wire.address(), 1, [&](coordination_options& o) {
    o.heartbeat_timeout = 400ms;
    o.on_error = told.handler();
  });
  wire.cut();
  auto const e = told.get();
  EXPECT_EQ(e.code(), coordination_code::unavailable);
  EXPECT_NE(std::string(e.what()).find("no answer from"), std::string::npos) << e.what();
  EXPECT_EQ(e.task(), std::nullopt);
}

TEST(agent_life, connects_before_the_server_starts_and_after_it_restarts) {
  auto const serve = [](int port) {
    return std::make_unique<test_server>(
        test_server_options{.clusters = {agents(1)}, .port = port});
  };
  auto server = serve(0);
  auto const port = server->port();
  auto const address = server->address();
  server.reset();
  told_errors told;
  auto o = as_task(address, 0);
  o.incarnation = 77;
  o.on_error = told.handler();
  muster::coordination_agent a(o);
  auto connecting = beside([&] { a.connect(); });
  server = serve(port);
  connecting.get();
  EXPECT_EQ(a.incarnation(), 77u);
  auto waiting = beside([&] { return a.get("k", long_time); });
  ASSERT_TRUE(server->parked(2));
  server.reset();
  server = serve(port);
  auto const e = told.get();
  EXPECT_NE(std::string(e.what()).find("was restarted"), std::string::npos) << e.what();
  EXPECT_THROW(waiting.get(), agent_error);
  a.connect();
  EXPECT_NE(a.incarnation(), 77u);
  a.set("k", "v");
  EXPECT_EQ(a.get("k", long_time), "v");
}

TEST(agent_life, second_process_with_the_same_task_ends_the_first) {
  test_server server(agents(1));
  told_errors told;
  auto const first =
      connected(server.address(), 1, [&](coordination_options& o) { o.on_error = told.handler(); });
  muster::coordination_agent second(as_task(server.address(), 0));
  second.connect();
  auto const e = told.get();
  EXPECT_EQ(e.code(), coordination_code::aborted);
  EXPECT_NE(std::string(e.what()).find("different incarnation"), std::string::npos) << e.what();
  EXPECT_EQ(second.state(), agent_state::connected);
}

TEST(agent_life, shutdown_barrier_names_missing_tasks) {
  auto spec = agents(2);
  spec.shutdown_timeout = 200ms;
  test_server server(spec);
  auto const both = connected(server.address(), 2);
  auto leaving = beside([&] { both[1]->shutdown(); });
  both[0]->shutdown();
  leaving.get();
  EXPECT_EQ(both[0]->state(), agent_state::shut_down);
  EXPECT_THROW(both[0]->try_get("k"), coordination_error);

  auto connecting = beside([&] { both[1]->connect(); });
  both[0]->connect();
  connecting.get();
  auto const e = raised_by<agent_error>([&] { both[0]->shutdown(); });
  EXPECT_NE(std::string(e.what()).find("Shutdown barrier has failed"), std::string::npos)
      << e.what();
}

}  // namespace
}  // namespace muster::test
