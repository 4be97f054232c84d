#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

program_spec that_restarts(std::uint32_t ranks) {
  auto spec = of_workers(ranks);
  spec.max_restarts = 50;
  return spec;
}

// Fails rank 0 and waits for the next attempt.
void fail(bench& b, stream_id s, program_id p, std::uint32_t attempt) {
  b.end(s, p, attempt, 0, 1);
  for (std::uint32_t r = 1; r < b.find(p).ranks; ++r) b.end(s, p, attempt, r, 0, true);
  b.advance_in_touch(31s);
}

std::string why_not(bench& b, rank_name const& rank) {
  auto const at = b.core->worker_of(rank);
  return at ? "" : at.error().message;
}

TEST(program_seats, workers_of_earlier_attempts_are_found) {
  bench b;
  auto const a = b.attach(0);
  auto const p = b.submit(that_restarts(2));
  EXPECT_EQ(why_not(b, {p, 0, 0}),
            "there is no attempt 0 of " + text(p) + "; the last attempt is 1");
  fail(b, a, p, 1);
  auto const other = b.attach(1);
  fail(b, a, p, 2);
  ASSERT_EQ(b.find(p).attempt, 3u);
  EXPECT_EQ(b.core->worker_of({p, 1, 1}).value(), a);
  EXPECT_EQ(b.core->task_of({p, 1, 1}), "worker:1");
  EXPECT_EQ(b.core->worker_of({p, 3, 1}).value(), other);
  EXPECT_EQ(why_not(b, {p, 1, 2}),
            "attempt 1 of " + text(p) + " has no rank 2; it has 2 ranks, numbered from 0");
  EXPECT_EQ(why_not(b, {p, 4, 0}),
            "there is no attempt 4 of " + text(p) + "; the last attempt is 3");
  EXPECT_EQ(b.core->task_of({p, 4, 0}), "");
}

TEST(program_seats, belong_to_a_process_and_are_found_after_its_return) {
  bench b;
  process const was{1, 0, "host0", {}};
  auto const a = b.attach(was);
  auto const p = b.submit(of_workers(1));
  b.run(a, p, 1, {0});
  b.end(a, p, 1, 0);
  ASSERT_EQ(b.state(p), program_state::succeeded);
  b.cut(a);
  EXPECT_EQ(b.core->worker_of({p, 1, 0}).value(), stream_id{}) << "it is disconnected";
  auto const another = b.attach({2, 0, "host0", {}});
  EXPECT_EQ(b.core->worker_of({p, 1, 0}).value(), stream_id{}) << "with the same name";
  b.cut(another);
  auto const again = b.attach(was);
  EXPECT_EQ(b.core->worker_of({p, 1, 0}).value(), again);
}

TEST(program_seats, are_forgotten_with_their_attempt) {
  bench b({.attempts_kept = 2});
  auto const a = b.attach(0);
  auto const p = b.submit(that_restarts(1));
  EXPECT_EQ(why_not(b, {p, 2, 0}),
            "there is no attempt 2 of " + text(p) + "; the last attempt is 1");
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) fail(b, a, p, attempt);
  EXPECT_EQ(why_not(b, {p, 1, 0}),
            "attempt 1 of " + text(p) + " was removed; only the newest 2 attempts are stored");
}

TEST(program_seats, are_limited_per_program) {
  bench b;
  for (std::uint64_t i = 0; i < 4; ++i) {
    process each{i + 1, static_cast<std::int64_t>(i), "host" + std::to_string(i), {}};
    each.last_port = 65'000;
    b.attach(each);
  }
  auto const p = b.submit(that_restarts(4'096));
  auto const end = [&](std::uint32_t attempt) {
    std::map<stream_id, std::vector<rank_end>> all;
    for (std::uint32_t r = 0; r < 4'096; ++r) {
      rank_name const name{p, attempt, r};
      all[b.core->worker_of(name).value()].push_back({.name = name, .exit_status = 1});
    }
    for (auto& [s, ends] : all) b.report(s, {}, std::move(ends));
    b.advance_in_touch(3s);
  };
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) end(attempt);
  ASSERT_EQ(b.find(p).attempt, 4u);
  EXPECT_EQ(ended_attempt::seats_max, 2u * 4'096);
  EXPECT_NE(why_not(b, {p, 1, 0}).find("has restarted since"), std::string::npos);
  EXPECT_EQ(why_not(b, {p, 2, 4'095}), "");
  EXPECT_EQ(b.core->attempts_of(p).value().size(), 4u);
}

TEST(program_seats, end_reported_after_a_reconnect_contains_its_process) {
  bench b;
  process const was{1, 0, "host0", {}};
  auto const a = b.attach(was);
  auto const p = b.submit(of_workers(1));
  b.cut(a);
  rank_end end;
  end.name = {p, 1, 0};
  auto const again = b.attach(was, {{end.name, 77, end}});
  EXPECT_EQ(b.state(p), program_state::succeeded);
  auto const r = b.core->ranks(p).value().at(0);
  EXPECT_EQ(r.pid, 77u);
  EXPECT_NE(r.started, time_point{});
  EXPECT_EQ(b.core->worker_of(end.name).value(), again);
}

}  // namespace
}  // namespace muster::core::programs
