#include <future>
#include <memory>

#include "tests/client/fake_server.hpp"
#include "tests/client/objects/objects_fixture.hpp"

namespace muster::test {
namespace {

bool says(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(objects, are_lost_with_their_task) {
  auto const o = c->create({.task = "ps:0", .name = "m"}, "Meeting");
  auto const n = o.call<int>("pass");
  g.wait_for(1);
  EXPECT_EQ(ps->stop(), 0) << "a running method is asked to stop";
  auto const e = thrown_by<unavailable_error>([&] { n.fetch(); });
  EXPECT_TRUE(says(e.message(), "object 'm' was lost together with ps:0")) << e.message();
  EXPECT_EQ(e.failure().dependencies, std::vector<std::string>{"ps:0"});
  EXPECT_EQ(n.status(), value_status::aborted);
  EXPECT_THROW(o.call<int>("pass").fetch(), unavailable_error);
  EXPECT_THROW(c->join(), unavailable_error) << "users of the object are notified";
  EXPECT_TRUE(c->join()) << "once";
}

TEST_F(objects, calls_are_executed_once_when_both_streams_reconnect) {
  proxy to_worker(server.address()), to_coordinator(server.address());
  worker_thread one(ps_at(to_worker.address(), 1), add_classes);
  cluster_coordinator other({.server = to_coordinator.address()});
  auto const o = other.create({.task = "ps:1"}, "Counter", 0);
  std::vector<remote_value<int>> all;
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 50; ++k) all.push_back(o.call<int>("add", 1));
    if (i % 2 == 0)
      to_worker.reset();
    else
      to_coordinator.reset();
    if (i % 5 == 4) {
      EXPECT_EQ(all.back().fetch(), static_cast<int>(all.size()));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i].fetch(), static_cast<int>(i) + 1);
}

TEST_F(objects, creation_is_requested_again_on_a_new_stream) {
  proxy p(server.address());
  cluster_coordinator other({.server = p.address()});
  other.wait_open();
  p.sever();
  auto making = std::async(std::launch::async, [&] {
    return other.create({.task = "ps:0", .name = "late"}, "Counter", 3);
  });
  p.mend();
  auto const o = making.get();
  EXPECT_EQ(o.call<int>("add", 1).fetch(), 4);
  p.sever();
  o.erase();
  p.mend();
  EXPECT_THROW(o.call<int>("value").fetch(), closure_error);
  EXPECT_THROW(c->get_object("late"), closure_error);
}

TEST(lost_objects, are_removed_after_a_server_restart) {
  auto server = std::make_unique<test_server>(server_with_grace());
  auto again = server_with_grace();
  again.port = server->port();
  gate g;
  meeting::at = &g;
  worker_thread ps(ps_at(server->address()), add_classes);
  cluster_coordinator before({.server = server->address()});
  auto const o = before.create({.task = "ps:0"}, "Meeting");
  auto const n = o.call<int>("pass");
  g.wait_for(1);
  server = nullptr;
  test_server other(again);
  EXPECT_THROW(n.fetch(), unavailable_error);
  EXPECT_THROW(o.call<int>("pass"), unavailable_error);
  EXPECT_TRUE(other.eventually([](auto&) { return meeting::alive == 0; }));
  cluster_coordinator c({.server = other.address()});
  EXPECT_EQ(c.create({.task = "ps:0"}, "Counter", 1).call<int>("value").fetch(), 1);
  g.open();
}

// The session is durable, but its objects are not.
TEST(lost_objects, loss_is_reported_once_to_a_resumed_session) {
  fake_server server;
  server.on_session = [](session_stream* s) {
    v1::SessionRequest m;
    while (s->Read(&m)) {
      v1::SessionResponse to;
      if (m.has_open()) {
        to.mutable_opened()->set_session("job_1");
        to.mutable_opened()->set_objects(true);
      }
      auto& said = *to.mutable_objects();
      for (auto const& made : m.objects().create()) {
        auto& found = *said.add_found();
        found.set_number(made.number());
        found.set_object(7);
        found.set_task("ps:0");
        found.set_class_name("Counter");
      }
      for (auto const number : m.objects().number()) {
        auto& why = *said.add_failure();
        why.set_position(static_cast<std::uint32_t>(said.number_size()));
        why.set_kind(v1::DEPENDENCY_LOST);
        why.set_reason(v1::SERVER_RESTARTED);
        said.add_number(number);
        said.add_value();
        said.add_encoding(v1::JSON);
      }
      s->Write(to);
    }
    return grpc::Status::OK;
  };
  cluster_coordinator c({.server = server.address()});
  auto const o = c.create({.task = "ps:0"}, "Counter", 1);
  for (int i = 0; i < 2; ++i) {
    auto const e = thrown_by<unavailable_error>([&] { o.call<int>("value").fetch(); });
    EXPECT_EQ(e.message(),
              "UNAVAILABLE: Counter.value on ps:0: the object no longer exists, because the server "
              "was restarted");
  }
  EXPECT_EQ(thrown_by<unavailable_error>([&] { c.join(); }).failure().dependencies,
            std::vector<std::string>{"ps:0"});
  EXPECT_TRUE(c.join());
}

TEST_F(objects, functions_call_objects_by_their_handles) {
  worker_thread w(options_for(server.address()), [](worker& to) {
    to.function("add_to",
                [](remote_object const& o, int by) { return o.call<int>("add", by).fetch(); });
    to.function("add_to_all", [](std::map<std::string, std::vector<remote_object>> const& all) {
      for (auto const& [name, some] : all)
        for (auto const& o : some) o.call<int>("add", 100);
    });
    to.function("erase", [](remote_object const& o) { o.erase(); });
  });
  auto const o = c->create({.task = "ps:0"}, "Counter", 0);
  std::vector<remote_value<int>> all;
  for (int i = 0; i < 200; ++i) all.push_back(c->schedule<int>("add_to", o, 1));
  c->join();
  EXPECT_EQ(o.call<int>("value").fetch(), 200);
  c->schedule<void>("add_to_all", std::map<std::string, std::vector<remote_object>>{{"k", {o, o}}})
      .fetch();
  EXPECT_EQ(c->schedule<int>("add_to", o, 1).fetch(), 401)
      << "calls of one worker are executed in their order";
  auto const e = thrown_by<closure_error>([&] { c->schedule<void>("erase", o).fetch(); });
  EXPECT_TRUE(says(e.message(), "cannot delete an object")) << e.message();
  EXPECT_THROW(c->join(), closure_error);
  EXPECT_THROW(c->schedule<int>("add_to", 5, 1).fetch(), input_error);
}

TEST_F(objects, methods_call_other_objects) {
  auto const counts = c->create({.task = "ps:0"}, "Counter", 0);
  auto const calls = c->create({.task = "ps:0"}, "Caller");
  EXPECT_EQ(calls.call<int>("add_to", counts, 7).fetch(), 7);
  auto const other = c->create({.task = "ps:0"}, "Caller");
  EXPECT_EQ(calls.call<int>("ask", other, calls, 1).fetch(), 0);
  auto const e = thrown_by<closure_error>(
      [&] { calls.call<int>("ask", other, calls, 2).fetch(std::chrono::seconds(20)); });
  EXPECT_TRUE(says(e.message(), "neither can finish")) << e.message();
  EXPECT_EQ(calls.call<int>("add_to", counts, 1).fetch(), 8) << "the objects still work";
}

}  // namespace
}  // namespace muster::test
