#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

struct generation_rules : testing::Test {
  generation_rules() { s.enlist_all(); }
  scene s{{.tasks = 2}};
  void fail() {
    s.poll(1);
    s.report(0, code::internal, "ECC error");
    ASSERT_EQ(s.generation().state, generation_state::failed);
  }
  void renew() {
    s.enlist(0, 200), s.enlist(1, 201);
    ASSERT_EQ(s.generation().number, 2u);
    ASSERT_EQ(s.generation().state, generation_state::running);
  }
};

TEST_F(generation_rules, a_new_incarnation_after_a_failure_starts_the_next) {
  auto const first = s.incarnation();
  s.set("k", "old");
  fail();
  auto const a = s.enlist(0, 200);
  EXPECT_TRUE(s.parked(a));
  EXPECT_EQ(s.generation().number, 2u);
  EXPECT_NE(s.incarnation(), first);
  EXPECT_EQ(s.code_of(s.try_get("k")), code::not_found);
  auto const b = s.enlist(1, 201);
  EXPECT_EQ(std::get<incarnation>(s.reply_to(a).body), s.incarnation());
  EXPECT_EQ(s.code_of(b), code::ok);
  auto const view = s.all.view(s.id, s.now());
  ASSERT_EQ(view.past.size(), 1u);
  EXPECT_EQ(view.past[0].state, generation_state::failed);
  EXPECT_EQ(view.past[0].cause->message, "ECC error");
}

TEST_F(generation_rules, a_new_incarnation_after_the_end_starts_the_next) {
  s.leave(0), s.leave(1);
  ASSERT_EQ(s.generation().state, generation_state::finished);
  renew();
}

TEST_F(generation_rules, restart_breaks_the_running_generation_and_its_retry_starts_the_next) {
  auto const poll = s.poll(1);
  EXPECT_EQ(s.code_of(s.enlist(0, 200)), code::aborted);
  EXPECT_EQ(s.code_of(poll), code::aborted);
  EXPECT_EQ(s.generation().number, 1u);
  EXPECT_TRUE(s.parked(s.enlist(0, 200)));
  EXPECT_EQ(s.generation().number, 2u);
}

TEST_F(generation_rules, known_incarnation_starts_no_generation) {
  fail();
  EXPECT_EQ(s.code_of(s.enlist(1)), code::ok) << "it is still connected";
  EXPECT_EQ(s.code_of(s.enlist(0)), code::aborted);
  EXPECT_EQ(s.code_of(s.enlist(7, 999)), code::invalid_argument);
  EXPECT_EQ(s.generation().number, 1u);
}

TEST_F(generation_rules, members_of_the_old_generation_learn_why_it_ended) {
  fail();
  renew();
  for (auto const call : {s.beat(1), s.enlist(1)}) {
    EXPECT_EQ(s.code_of(call), code::aborted);
    EXPECT_NE(s.message_of(call).find("ECC error"), std::string::npos) << s.message_of(call);
  }
  EXPECT_EQ(s.code_of(s.beat(1, 201)), code::ok);
  EXPECT_EQ(s.generation().state, generation_state::running);
}

TEST_F(generation_rules, members_of_the_generation_before_the_last_are_remembered_too) {
  fail();
  renew();
  s.poll(0);
  s.report(1, code::internal, "again");
  s.enlist(0, 300), s.enlist(1, 301);
  ASSERT_EQ(s.generation().number, 3u);
  EXPECT_EQ(s.code_of(s.enlist(0)), code::aborted);
  s.leave(0), s.leave(1);
  EXPECT_EQ(s.code_of(s.enlist(1)), code::aborted) << "it does not start a fourth";
}

TEST_F(generation_rules, calls_of_dialect_x_name_the_old_service_and_fail) {
  auto const old = s.incarnation();
  fail();
  renew();
  caller from;
  from.service = old;
  auto const calls = {s.ask(enter_barrier{from, "b", 0, 1s, s.ref(0), {}}),
                      s.ask(shutdown_task{from, s.ref(0)}),
                      s.ask(poll_for_error{from, s.ref(0)}),
                      s.ask(heartbeat{from, s.ref(0), incarnation{100}}),
                      s.ask(watch_tasks{from, {}, -1, true}),
                      s.ask(get_key_value{from, "k", true, {}, {}})};
  for (auto const call : calls) {
    EXPECT_EQ(s.code_of(call), code::internal);
    EXPECT_EQ(s.fault_of(call).mismatch, s.incarnation());
    EXPECT_TRUE(s.message_of(call).starts_with("wrong service incarnation: requested " +
                                               std::to_string(raw(old)) + ", currently " +
                                               std::to_string(raw(s.incarnation()))));
    EXPECT_NE(s.message_of(call).find("ECC error"), std::string::npos);
  }
  from.service = incarnation{12345};
  auto const nonsense = s.ask(enter_barrier{from, "b", 0, 1s, s.ref(0), {}});
  EXPECT_EQ(s.fault_of(nonsense).mismatch, s.incarnation());
}

TEST_F(generation_rules, calls_of_dialect_t_are_identified_by_their_address) {
  fail();
  s.ask(register_task{{}, s.ref(0), incarnation{200}, false, "10.0.0.0:5000"});
  s.ask(register_task{{}, s.ref(1), incarnation{201}, false, "10.0.0.1:5000"});
  ASSERT_EQ(s.generation().state, generation_state::running);
  auto const poll = s.poll(1);
  s.peer_of_caller = "10.0.0.1:4711";
  for (auto const call : {s.barrier("b", 1), s.leave(1), s.poll(1), s.set("k", "v")}) {
    EXPECT_EQ(s.code_of(call), code::aborted);
    EXPECT_NE(s.message_of(call).find("ECC error"), std::string::npos);
  }
  EXPECT_TRUE(s.parked(poll));
  EXPECT_EQ(s.code_of(s.ask(get_task_state{{.peer = "10.0.0.1:4711"}, {s.ref(1)}})), code::ok)
      << "it calls before it registers";
  s.peer_of_caller = "10.0.0.1:5000";
  EXPECT_TRUE(s.parked(s.barrier("b", 1)));
  s.peer_of_caller = "10.0.0.9:1";  // unknown: accepted
  EXPECT_EQ(s.code_of(s.set("k", "v")), code::ok);
}

TEST_F(generation_rules, an_address_that_is_used_again_belongs_to_the_new) {
  fail();
  renew();
  s.peer_of_caller = "10.0.0.1:4711";
  EXPECT_TRUE(s.parked(s.barrier("b", 1)));
}

TEST_F(generation_rules, parked_calls_of_the_old_generation_are_answered_at_its_end) {
  auto const key = s.get("k");
  auto const watch = s.watch(s.version());
  auto const alive = s.alive(1, {0, 1});
  fail();
  s.enlist(0, 200);
  EXPECT_EQ(s.code_of(key), code::cancelled);
  EXPECT_EQ(s.states_of(watch)->version, -1);
  EXPECT_FALSE(s.parked(alive));
  EXPECT_EQ(s.current().parked_calls(), 1u);
}

TEST(generations, are_not_renewed_if_disabled) {
  scene s({.tasks = 2, .spec = {.renew = false}});
  s.enlist_all();
  s.poll(1);
  s.report(0, code::internal, "x");
  EXPECT_EQ(s.code_of(s.enlist(0, 200)), code::aborted);
  EXPECT_EQ(s.code_of(s.enlist(1, 201)), code::aborted);
  EXPECT_EQ(s.generation().number, 1u);
}

TEST(generations, failed_registration_is_renewed) {
  scene s({.tasks = 2, .spec = {.register_timeout = 1s}});
  s.enlist(0);
  s.advance(1s);
  ASSERT_EQ(s.generation().state, generation_state::failed);
  auto const a = s.enlist(0, 200);
  s.enlist(1);
  EXPECT_EQ(s.code_of(a), code::ok);
  EXPECT_EQ(s.generation().number, 2u);
}

TEST(generations, end_only_after_every_task_has_registered) {
  scene s({.tasks = 2, .spec = {.shutdown_timeout = 0s, .register_barrier = false}});
  s.enlist(0);
  s.set("k", "for the other");
  s.leave(0);
  s.enlist(1);
  EXPECT_EQ(s.generation().number, 1u);
  EXPECT_EQ(s.code_of(s.try_get("k")), code::ok);
  s.leave(1);
  EXPECT_EQ(s.generation().state, generation_state::finished);
}

TEST(generations, sixteen_past_generations_are_kept) {
  scene s({.tasks = 1});
  for (std::uint64_t i = 1; i <= 20; ++i) {
    EXPECT_EQ(s.code_of(s.enlist(0, i)), code::ok);
    EXPECT_EQ(s.code_of(s.leave(0)), code::ok);
  }
  EXPECT_EQ(s.generation().number, 20u);
  auto const past = s.all.view(s.id, s.now()).past;
  ASSERT_EQ(past.size(), 16u);
  EXPECT_EQ(past[0].number, 19u);
  EXPECT_EQ(past[0].state, generation_state::finished);
}

TEST(generations, are_closed_to_all_when_the_server_stops) {
  scene s({.tasks = 1});
  s.enlist(0);
  s.leave(0);
  s.stop();
  EXPECT_EQ(s.code_of(s.enlist(0, 200)), code::internal);
  EXPECT_EQ(s.generation().number, 1u);
  cluster_spec another;
  another.name = "another";
  EXPECT_EQ(s.create(another).error().code, code::unavailable);
}

TEST(generations, clusters_are_declared_found_and_removed) {
  scene s;
  cluster_spec spec;
  EXPECT_EQ(s.create(spec).error().code, code::already_exists);
  spec.name = "b", spec.service_type = "magic";
  auto const unknown = s.create(spec);
  EXPECT_EQ(unknown.error().code, code::invalid_argument);
  EXPECT_NE(unknown.error().message.find("'standalone'"), std::string::npos);
  spec.service_type = "standalone";
  auto const b = s.create(spec);
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(*s.all.find("b"), *b);
  EXPECT_EQ(s.all.ids().size(), 2u);
  auto const wait = s.get("k");
  auto const& removed = s.all.step(s.now(), remove_cluster{"default"});
  ASSERT_TRUE(removed.declared.ok());
  ASSERT_EQ(removed.replies.size(), 1u);
  EXPECT_EQ(removed.replies[0].call, wait);
  EXPECT_FALSE(s.all.exists(s.id));
  EXPECT_EQ(s.all.step(s.now(), remove_cluster{"default"}).declared.code, code::not_found);
}

// Generations of an earlier server process, read from history.
TEST(generations, of_an_earlier_process_are_remembered_in_their_place) {
  scene s({.tasks = 1});
  for (std::uint64_t i = 1; i <= 18; ++i) {
    s.enlist(0, i);
    s.leave(0);
  }
  auto const numbers = [&] {
    std::vector<std::uint64_t> found;
    for (auto const& g : s.all.past(s.id)) found.push_back(g.number);
    return found;
  };
  EXPECT_EQ(numbers().back(), 2u);
  generation_view g;
  g.number = 1;
  s.all.remember(s.id, g);
  EXPECT_EQ(numbers().size(), 16u) << "the newest sixteen, and not the one before";
  EXPECT_EQ(numbers().back(), 2u);

  scene fresh({.tasks = 1});
  for (std::uint64_t i = 1; i <= 5; ++i) {
    fresh.enlist(0, i);
    fresh.leave(0);
  }
  g.number = 3;
  fresh.all.remember(fresh.id, g);
  EXPECT_EQ(fresh.all.past(fresh.id).size(), 4u) << "it is known";
  g.number = 5;
  fresh.all.remember(fresh.id, g);
  EXPECT_EQ(fresh.all.past(fresh.id).size(), 4u) << "it is the continued generation";
}

}  // namespace
}  // namespace muster::core::coordination
