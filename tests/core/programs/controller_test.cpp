#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

using enum program_state;
using ranks = std::vector<std::uint32_t>;
using states = std::vector<program_state>;

TEST(programs, succeeds_when_all_ranks_succeed) {
  bench b;
  auto const a = b.attach(0), c = b.attach(1);
  auto const p = b.submit(of_workers(4));
  EXPECT_EQ(b.started(a), (ranks{0, 1}));
  EXPECT_EQ(b.started(c), (ranks{2, 3}));
  b.run(a, p, 1, {0, 1});
  EXPECT_EQ(b.state(p), starting);
  b.run(c, p, 1, {2, 3});
  EXPECT_EQ(b.state(p), running);
  for (auto const r : {0u, 1u}) b.end(a, p, 1, r);
  b.end(c, p, 1, 2);
  EXPECT_EQ(b.state(p), running);
  b.end(c, p, 1, 3);
  EXPECT_EQ(b.states[p], (states{pending, starting, running, succeeded}));
  EXPECT_EQ(b.orders(c).forget, (std::vector<rank_name>{{p, 1, 3}}));
}

TEST(programs, ranks_receive_all_addresses_and_unique_ports) {
  bench b;
  auto const a = b.attach(0);
  b.attach(1);
  b.submit(of_workers(4));
  auto const sheet = b.orders(a).starts.at(0).sheet;
  std::vector<std::string> told;
  for (auto const& t : sheet->tasks) told.push_back(t.address);
  EXPECT_EQ(told,
            (std::vector<std::string>{"host0:20000", "host0:20001", "host1:20000", "host1:20001"}));
  EXPECT_EQ(sheet->own_service, "host0:20002");
  EXPECT_EQ(sheet->meeting_point, "host0:20003");
}

TEST(programs, waits_until_all_ranks_fit) {
  bench b;
  b.attach(0, {{"gpu", 4}});
  auto const p = b.submit(of_workers(2, {{"gpu", 4}}));
  EXPECT_EQ(b.state(p), pending);
  EXPECT_NE(b.find(p).waits_for.find("room for 1 of its 2 ranks"), std::string::npos)
      << b.find(p).waits_for;
  auto const c = b.attach(1, {{"gpu", 4}});
  EXPECT_EQ(b.state(p), starting);
  EXPECT_EQ(b.started(c), ranks{1});
}

TEST(programs, first_failing_rank_is_the_cause_and_the_others_are_stopped) {
  bench b;
  auto const a = b.attach(0), c = b.attach(1);
  auto const p = b.submit(of_workers(2));
  b.run(a, p, 1, {0});
  b.run(c, p, 1, {1});
  b.end(c, p, 1, 1, 3);
  EXPECT_EQ(b.state(p), stopping);
  ASSERT_EQ(b.orders(a).stops.size(), 1u);
  EXPECT_EQ(b.orders(a).stops[0].ranks, ranks{0});
  EXPECT_EQ(b.orders(a).stops[0].grace, 10s);
  b.end(a, p, 1, 0, 143, true);
  EXPECT_EQ(b.state(p), failed);
  EXPECT_EQ(b.find(p).cause->task, "worker:1");
  EXPECT_EQ(b.find(p).cause->exit_status, 3u);
  EXPECT_EQ(b.find(p).cause->text, "rank 1 on worker:1 (host1): exit status 3");
}

TEST(programs, workers_on_one_host_count_as_one_host) {
  bench b;
  b.attach({1, 0, "host-a", {}});
  b.attach({2, 1, "host-a", {}});
  b.attach({3, 2, "host-b", {}});
  auto spec = of_workers(3);
  spec.per_worker = 1;
  auto const p = b.submit(spec);
  EXPECT_EQ(b.core->attempts_of(p).value().at(0).hosts, 2u);
}

TEST(programs, restarts_up_to_the_limit) {
  bench b;
  auto const a = b.attach(0);
  auto spec = of_workers(1);
  spec.max_restarts = 1;
  auto const p = b.submit(spec);
  b.run(a, p, 1, {0});
  b.end(a, p, 1, 0, 1);
  EXPECT_EQ(b.state(p), starting);
  EXPECT_EQ(b.orders(a).starts.at(0).sheet->attempt, 2u);
  EXPECT_EQ(b.orders(a).starts.at(0).sheet->tasks[0].address, "host0:20003")
      << "ports are in cooldown";
  b.run(a, p, 2, {0});
  b.end(a, p, 2, 0, 1);
  EXPECT_EQ(b.state(p), failed);
  auto const all = b.core->attempts_of(p).value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].end, program_end::failed);
  EXPECT_EQ(all[1].attempt, 2u);
}

TEST(programs, next_attempt_waits_for_all_processes_of_the_previous_one) {
  bench b;
  auto const a = b.attach(0), c = b.attach(1);
  auto spec = of_workers(2);
  spec.max_restarts = 1;
  auto const p = b.submit(spec);
  b.run(a, p, 1, {0});
  b.run(c, p, 1, {1});
  b.cut(c);
  b.end(a, p, 1, 0, 1);
  EXPECT_EQ(b.state(p), restarting);
  b.attach(2);
  EXPECT_EQ(b.state(p), restarting) << "rank 1 may be alive";
  b.advance_in_touch(bench::lease);
  EXPECT_EQ(b.state(p), restarting) << "the worker's clock may be slower";
  b.advance_in_touch(1s);
  EXPECT_EQ(b.state(p), starting);
}

TEST(programs, lease_is_renewed_by_echoed_numbers) {
  bench b;
  auto const a = b.attach(0);
  auto const p = b.submit(of_workers(1));
  b.run(a, p, 1, {0});
  for (std::uint64_t n = 1; n < 20; ++n) {
    b.advance(2s);
    b.report(a, {}, {}, n);
    EXPECT_EQ(b.orders(a).lease, n);
  }
  EXPECT_EQ(b.state(p), running);
  b.advance(10s);
  EXPECT_EQ(b.state(p), restarting) << "nothing is started with an expired lease";
  b.report(a, {}, {}, 20);
  EXPECT_EQ(b.find(p).attempt, 2u);
  EXPECT_EQ(b.core->attempts_of(p).value()[0].end, program_end::lost);
  EXPECT_EQ(b.find(p).restarts, 0u) << "lost machines do not count";
}

TEST(programs, returning_worker_keeps_its_running_ranks) {
  bench b;
  process const one{.incarnation = 7, .index = 0, .host = "h", .resources = {{"gpu", 2}}};
  auto const a = b.attach(one);
  auto const p = b.submit(of_workers(2, {{"gpu", 1}}));
  b.run(a, p, 1, {0});
  b.cut(a);
  b.advance(3s);
  auto const again = b.attach(one, {{{p, 1, 0}, 100, {}}, {{program_id{5}, 1, 0}, 9, {}}});
  EXPECT_EQ(b.kept, ranks{0}) << "and kills unknown ranks";
  EXPECT_EQ(b.started(again), ranks{1}) << "the order had not arrived";
  EXPECT_EQ(b.resources.workers[again].free, (named_amounts{{"gpu", 0}}));
  b.run(again, p, 1, {1});
  EXPECT_EQ(b.state(p), running);
  rank_end over;
  over.name = {p, 1, 0};
  b.cut(again);
  auto const third = b.attach(one, {{{p, 1, 0}, 0, over}, {{p, 1, 1}, 101, {}}});
  EXPECT_EQ(b.kept, (ranks{0, 1}));
  EXPECT_EQ(b.resources.workers[third].free, (named_amounts{{"gpu", 1}}));
}

TEST(programs, cancelled_rank_receives_its_stop_after_a_reconnect) {
  bench b;
  process const one{.incarnation = 7, .index = 0, .host = "h", .resources = {}};
  auto const a = b.attach(one);
  auto const p = b.submit(of_workers(1));
  b.run(a, p, 1, {0});
  b.cut(a);
  EXPECT_TRUE(b.wish(p, program_command::cancel).ok());
  EXPECT_EQ(b.state(p), stopping);
  auto const again = b.attach(one, {{{p, 1, 0}, 100, {}}});
  EXPECT_EQ(b.kept, ranks{0}) << "it can use its grace period";
  ASSERT_EQ(b.orders(again).stops.size(), 1u);
  EXPECT_EQ(b.orders(again).stops[0].grace, 10s);
  EXPECT_EQ(b.state(p), stopping) << "until it is dead";
  b.end(again, p, 1, 0, 0, true);
  EXPECT_EQ(b.state(p), cancelled);
}

TEST(programs, cancel_stops_the_ranks_and_a_stopped_program_can_succeed) {
  bench b;
  auto const a = b.attach(0);
  auto const p = b.submit(of_workers(1)), q = b.submit(of_workers(1));
  b.wish(p, program_command::cancel);
  EXPECT_EQ(b.orders(a).stops.size(), 1u);
  b.end(a, p, 1, 0, 0, true);
  EXPECT_EQ(b.state(p), cancelled);
  b.wish(q, program_command::stop);
  b.end(a, q, 1, 0, 0, true);
  EXPECT_EQ(b.state(q), succeeded);
  EXPECT_EQ(b.wish(q, program_command::restart).code, code::failed_precondition);
  EXPECT_TRUE(b.wish(q, program_command::forget).ok());
  EXPECT_FALSE(b.core->knows(q));
  EXPECT_EQ(b.wish(q, program_command::forget).code, code::not_found);
}

TEST(programs, parameter_servers_are_stopped_when_all_others_have_ended) {
  bench b;
  auto const a = b.attach(0);
  auto spec = of_workers(1);
  spec.tasks.push_back({.type = "ps"});
  auto const p = b.submit(spec);
  b.run(a, p, 1, {0, 1});
  b.end(a, p, 1, 0);
  EXPECT_EQ(b.state(p), stopping);
  EXPECT_EQ(b.orders(a).stops.at(0).ranks, ranks{1});
  b.end(a, p, 1, 1, 143, true);
  EXPECT_EQ(b.state(p), succeeded);
}

TEST(programs, host_that_failed_twice_is_avoided_while_others_fit) {
  bench b;
  auto const a = b.attach(0, {{"gpu", 1}});
  auto spec = of_workers(1, {{"gpu", 1}});
  spec.max_restarts = 9;
  auto const p = b.submit(spec);
  for (std::uint32_t attempt : {1u, 2u}) {
    EXPECT_EQ(b.find(p).attempt, attempt);
    b.end(a, p, attempt, 0, 1);
    b.advance_in_touch(40s);
  }
  b.attach(1, {{"gpu", 1}});
  b.end(a, p, 3, 0, 1);
  b.advance_in_touch(40s);
  EXPECT_EQ(b.core->ranks(p).value()[0].worker, "worker:1");
}

TEST(programs, two_programs_that_need_over_half_the_cluster_run_in_turn) {
  bench b;
  auto const a = b.attach(0, {{"gpu", 4}}), c = b.attach(1, {{"gpu", 4}});
  auto const first = b.submit(of_workers(6, {{"gpu", 1}}));
  auto const second = b.submit(of_workers(6, {{"gpu", 1}}));
  EXPECT_EQ(b.state(first), starting);
  EXPECT_EQ(b.state(second), pending);
  EXPECT_EQ(b.resources.workers[c].free, (named_amounts{{"gpu", 0}})) << "reserved for the second";
  auto const third = b.submit(of_workers(1, {{"gpu", 2}}));
  EXPECT_EQ(b.state(third), pending);
  for (std::uint32_t r = 0; r < 6; ++r) b.end(r < 4 ? a : c, first, 1, r);
  EXPECT_EQ(b.state(first), succeeded);
  b.advance(1s);
  EXPECT_EQ(b.state(second), starting);
  EXPECT_EQ(b.state(third), starting);
}

TEST(programs, program_that_can_never_start_reserves_nothing) {
  bench b;
  b.attach(0, {{"gpu", 4}});
  auto const large = b.submit(of_workers(5, {{"gpu", 1}}));
  auto const small = b.submit(of_workers(4, {{"gpu", 1}}));
  EXPECT_EQ(b.state(large), pending);
  EXPECT_EQ(b.state(small), starting);
}

TEST(programs, every_program_gets_a_turn_when_many_do_not_fit) {
  bench b;
  b.attach(0, {{"gpu", 1}});
  for (int i = 0; i < 20; ++i) b.submit(of_workers(2, {{"gpu", 1}}));
  auto const small = b.submit(of_workers(1, {{"gpu", 1}}));
  for (std::uint64_t n = 1; n < 5 && b.state(small) == pending; ++n) {
    b.wish(b.submit(of_workers(9, {{"gpu", 1}})), program_command::cancel);
    b.advance(20ms);
  }
  EXPECT_EQ(b.state(small), starting);
}

// JAX processes exit before the lease of a dead host expires.
TEST(programs, exits_caused_by_a_lost_host_are_attributed_to_it) {
  bench b;
  auto const first = b.attach(0), second = b.attach(1);
  auto const p = b.submit(of_workers(2));
  b.run(first, p, 1, {0});
  b.run(second, p, 1, {1});
  b.cut(second);
  b.advance(3s);
  b.report(first, {}, {{.name = {p, 1, 0}, .signal = 6, .stderr_lines = {"others are gone"}}});
  EXPECT_EQ(b.state(p), restarting) << "no restart of its own is left, and none is needed";
  EXPECT_EQ(b.find(p).restarts, 0u);
  auto const cause = b.core->attempts_of(p).value()[0].cause.value();
  EXPECT_EQ(b.core->attempts_of(p).value()[0].end, program_end::lost);
  EXPECT_EQ(cause.kind, cause_kind::worker_lost);
  EXPECT_EQ(cause.rank, 1);
  EXPECT_EQ(cause.host, "host1");
  EXPECT_EQ(cause.stderr_lines, std::vector<std::string>{"others are gone"});
}

TEST(programs, failure_during_a_brief_disconnect_counts_as_failed) {
  bench b;
  auto const first = b.attach(0), second = b.attach(1);
  auto const p = b.submit(of_workers(2));
  b.run(first, p, 1, {0});
  b.run(second, p, 1, {1});
  b.cut(second);
  b.advance(500ms);
  b.end(first, p, 1, 0, 3);
  EXPECT_EQ(b.core->attempts_of(p).value()[0].end, program_end::failed);
}

TEST(programs, failed_programs_are_found_by_end_and_all_by_name) {
  bench b;
  auto const w = b.attach(0);
  auto spec = of_workers(1);
  spec.name = "Early";
  auto const early = b.submit(spec);
  spec.name = "late";
  spec.idempotency_key = "once";
  spec.submitted_by = "me";
  auto const late = b.submit(spec);
  b.run(w, late, 1, {0});
  b.end(w, late, 1, 0, 3);
  b.advance_in_touch(10s);
  auto const since = b.now;
  b.advance_in_touch(1s);
  b.run(w, early, 1, {0});
  b.end(w, early, 1, 0, 3);
  auto const all = b.core->failed_since({}, 9);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].id, early) << "it was submitted first and failed last";
  EXPECT_EQ(b.core->failed_since(since, 9).size(), 1u);
  EXPECT_EQ(b.core->failed_since({}, 1).size(), 1u);
  EXPECT_EQ(b.core->list({}, 9, {}, "EAR").size(), 1u);
  EXPECT_EQ(b.core->list({}, 9, {}, text(late)).at(0).id, late);
  EXPECT_TRUE(b.core->has_key("me", "once"));
  EXPECT_FALSE(b.core->has_key("you", "once"));
}

// One rank never received its order, the other had started: none may be started again.
TEST(programs, attempt_with_a_lost_start_order_is_restarted_as_a_whole) {
  bench b;
  process const one{.incarnation = 7, .index = 0, .host = "h", .resources = {}};
  auto const w = b.attach(one);
  auto spec = of_workers(2);
  spec.max_restarts = 1;
  auto const p = b.submit(spec);
  b.run(w, p, 1, {1});
  b.cut(w);
  auto const again = b.attach(one);
  EXPECT_EQ(b.find(p).attempt, 2u);
  for (auto const& s : b.orders(again).starts) EXPECT_EQ(s.sheet->attempt, 2u);
}

TEST(programs, fails_at_its_deadline) {
  bench b;
  auto const a = b.attach(0);
  auto spec = of_workers(1);
  spec.deadline = 5s;
  auto const p = b.submit(spec);
  b.run(a, p, 1, {0});
  b.advance(5s);
  EXPECT_EQ(b.state(p), stopping);
  b.end(a, p, 1, 0, 0, true);
  EXPECT_EQ(b.state(p), failed);
  EXPECT_EQ(b.find(p).cause->kind, cause_kind::deadline);
}

TEST(programs, repeated_key_returns_the_first_program) {
  bench b;
  auto spec = of_workers(1);
  spec.idempotency_key = "once";
  auto const p = b.submit(spec);
  auto const again = b.step([&] { return b.core->submit(b.now, spec); });
  EXPECT_EQ(again.value(), (program_reply{p, false}));
}

TEST(programs, a_different_request_with_a_used_key_is_refused) {
  bench b;
  auto spec = of_workers(1);
  spec.idempotency_key = "once";
  spec.request_digest = "one";
  b.submit(spec);
  spec.request_digest = "two";
  auto const again = b.step([&] { return b.core->submit(b.now, spec); });
  EXPECT_EQ(again.error().field, "idempotency_key");
}

TEST(programs, environment_values_are_never_shown) {
  bench b;
  auto spec = of_workers(1);
  spec.env = {{"SECRET", "hidden"}};
  auto const p = b.submit(spec);
  EXPECT_EQ(b.core->find(p).value().spec.env, (named_texts{{"SECRET", ""}}));
  EXPECT_EQ(b.core->list({}, 1, {}).front().spec.env, (named_texts{{"SECRET", ""}}));
}

TEST(programs, limits_are_reported) {
  bench b({.programs_max = 1, .finished_max = 1, .ranks_max = 4});
  auto const refused = [&](program_spec spec) {
    return b.step([&] { return b.core->submit(b.now, std::move(spec)); }).error();
  };
  EXPECT_EQ(refused(of_workers(5)).field, "tasks.worker");
  EXPECT_EQ(refused(of_workers(5)).limit, 4u);
  EXPECT_EQ(refused({}).field, "tasks");
  auto spec = of_workers(1);
  spec.ends_with = {"chief"};
  EXPECT_EQ(refused(spec).field, "ends_with");
  auto const p = b.submit(of_workers(1));
  EXPECT_EQ(refused(of_workers(1)).code, code::resource_exhausted);
  b.wish(p, program_command::cancel);
  auto const q = b.submit(of_workers(1));
  b.wish(q, program_command::cancel);
  EXPECT_FALSE(b.core->knows(p)) << "the oldest that has ended is forgotten";
  EXPECT_TRUE(b.core->knows(q));
}

}  // namespace
}  // namespace muster::core::programs
