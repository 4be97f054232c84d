#include "server/history/jobs/job_pages.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

constexpr session_id one{1}, two{2}, three{3};

session_changed is(session_id id, delivery kind, job_state state, time_point finished = {}) {
  session_changed s;
  s.session = id;
  s.kind = kind;
  s.state = state;
  s.finished = finished;
  return s;
}

changes of_sessions(std::vector<session_changed> all) {
  changes c;
  c.sessions = std::move(all);
  return c;
}

changes failed(session_id of, closure_id id, time_point at) {
  changes c;
  c.failures.emplace_back();
  auto& e = c.ended.emplace_back();
  e.of.session = of;
  e.of.closure = id;
  e.of.finished = at;
  e.of.as = closure_state::failed;
  return c;
}

std::vector<session_id> found(history::job_lists const& l, history::job_filter const& f) {
  return l.page_of({}, 10, f).items;
}

TEST(job_lists, failed_jobs_are_listed_by_their_end_from_changes_alone) {
  history::job_lists l;
  l.fold(of_sessions({is(one, delivery::job, job_state::failed, start + 5s),
                      is(two, delivery::job, job_state::failed, start + 3s),
                      is(three, delivery::job, job_state::succeeded, start + 9s)}));
  EXPECT_EQ(l.failed_since(start), (std::vector{one, two}));
  EXPECT_EQ(l.failed_since(start + 4s), (std::vector{one}));
  changes gone;
  gone.sessions_released.push_back({one, release_reason::jobs, 0});
  l.fold(gone);
  EXPECT_EQ(l.failed_since(start), (std::vector{two}));
  EXPECT_EQ(l.size(), 2u);
}

TEST(job_lists, session_shows_its_newest_failure_from_changes_alone) {
  history::job_lists l;
  l.fold(of_sessions({is(one, delivery::resumable, job_state::running)}));
  l.fold(failed(one, closure_id{7}, start + 2s));
  // Restored from an earlier process, in a different order.
  l.fold(failed(one, closure_id{8}, start + 1s));
  l.fold(failed(three, closure_id{9}, start + 1s));  // of an unknown session
  auto const all = l.sessions_failed_since(start);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].session, one);
  EXPECT_EQ(all[0].closure, closure_id{7});
  EXPECT_EQ(all[0].at, start + 2s);
  EXPECT_EQ(l.size(), 1u);
}

TEST(job_lists, job_is_found_by_name_from_changes_alone) {
  history::job_lists l;
  auto c = of_sessions(
      {is(one, delivery::job, job_state::running), is(two, delivery::stream, job_state::running)});
  c.names = {{one, "Nightly"}, {two, "other"}};
  l.fold(c);
  EXPECT_EQ(found(l, {{}, {}, "nightLY"}), (std::vector{one}));
  EXPECT_EQ(found(l, {{}, true, {}}), (std::vector{two}));
  EXPECT_EQ(found(l, {{}, {}, "job_"}), (std::vector{two, one})) << "ids are text, too";
}

TEST(job_lists, watched_jobs_are_running_or_recently_ended_or_failed) {
  history::job_lists l;
  auto const count = static_cast<std::uint64_t>(history::live_jobs::ended_max) + 10;
  for (std::uint64_t i = 1; i <= count; ++i)
    l.fold(of_sessions({is(session_id{i}, delivery::job,
                           i == 1   ? job_state::running
                           : i == 2 ? job_state::failed
                                    : job_state::succeeded,
                           i == 1 ? time_point{} : start)}));
  auto const lately = l.watched(start + 1min);
  EXPECT_EQ(lately.size(), history::live_jobs::ended_max + 2);
  EXPECT_EQ(lately.front(), session_id{count});
  EXPECT_EQ(lately[lately.size() - 2], two) << "it failed lately";
  EXPECT_EQ(lately.back(), one) << "it runs";
  EXPECT_EQ(l.watched(start + 2h).size(), history::live_jobs::ended_max + 1);
}

TEST(job_lists, count_jobs_and_sessions_by_state) {
  history::job_lists l;
  constexpr auto running = static_cast<std::size_t>(job_state::running);
  constexpr auto failed = static_cast<std::size_t>(job_state::failed);
  auto c = of_sessions(
      {is(one, delivery::job, job_state::running), is(two, delivery::stream, job_state::running)});
  c.names = {{one, "a"}, {two, "b"}};
  l.fold(c);
  EXPECT_EQ(l.counts(false)[running], 1u);
  EXPECT_EQ(l.counts(true)[running], 1u);
  l.fold(of_sessions({is(one, delivery::job, job_state::failed, start),
                      is(two, delivery::stream, job_state::failed, start)}));
  EXPECT_EQ(l.counts(false)[running], 0u);
  EXPECT_EQ(l.counts(false)[failed], 1u);
  EXPECT_EQ(l.counts(true)[failed], 1u);
  changes released;
  released.sessions_released = {{one, release_reason::jobs, 0}};
  l.fold(released);
  EXPECT_EQ(l.counts(false)[failed], 0u);
  EXPECT_EQ(l.counts(true)[failed], 1u);
}

TEST(job_lists, are_filtered_by_state_kind_and_text) {
  cluster c;
  auto const w = c.attach();
  session_spec named;
  named.name = "Nightly build";
  auto const good = c.open({"f"}, named);
  c.succeed(w, good[0]);
  auto const bad = c.open({"f"});
  c.fail(w, bad[0]);
  auto const stream = c.stream(named);
  auto const ids = [&](history::job_filter const& f) {
    std::vector<session_id> out;
    for (auto const& v : history::jobs(c.past, c.core, {}, 10, f).items) out.push_back(v.id);
    return out;
  };
  EXPECT_EQ(ids({}), (std::vector{stream, bad.id, good.id}));
  EXPECT_EQ(ids({job_state::failed, {}, {}}), (std::vector{bad.id}));
  EXPECT_EQ(ids({{}, true, {}}), (std::vector{stream}));
  EXPECT_EQ(ids({{}, false, {}}), (std::vector{bad.id, good.id}));
  EXPECT_EQ(ids({{}, {}, "nightLY"}), (std::vector{stream, good.id}));
  EXPECT_EQ(ids({job_state::succeeded, false, "build"}), (std::vector{good.id}));
  EXPECT_TRUE(ids({{}, {}, "nothing"}).empty());
}

TEST(job_lists, page_examines_two_thousand_jobs_and_continues_behind_them) {
  cluster c;
  auto const first = c.open({"f"}, left_open());
  for (int i = 0; i < 2'500; ++i) c.open({});
  history::job_filter running;
  running.unfinished = true;
  auto const none = history::jobs(c.past, c.core, {}, 10, running);
  EXPECT_TRUE(none.items.empty());
  ASSERT_TRUE(none.next);
  auto const rest = history::jobs(c.past, c.core, *none.next, 10, running);
  ASSERT_EQ(rest.items.size(), 1u);
  EXPECT_EQ(rest.items[0].id, first.id);
  EXPECT_FALSE(rest.next);
}

TEST(job_lists, sessions_with_a_recently_failed_closure_are_listed) {
  cluster c;
  auto const w = c.attach({.slots = 4, .credits = 4});
  auto const quiet = c.open({}, resumable_values(continue_all())).id;
  auto const bad = c.open({}, resumable_values(continue_all())).id;
  auto const job = c.open({"f"}, continue_all());
  auto const of = [&c](session_id s, std::uint64_t token) { return c.core.closure_of(s, token); };
  auto const good = of(quiet, c.schedule(quiet, {"f"}).at(0));
  auto const tokens = c.schedule(bad, {"f", "f"});
  c.succeed(w, good);
  c.fail(w, job[0]);
  EXPECT_EQ(history::sessions_failed_since(c.past, c.core, start, 9).count, 0u)
      << "jobs have a list of their own";
  c.wait(1s);
  c.fail(w, of(bad, tokens[0]), "division by zero");
  c.wait(1s);
  c.succeed(w, of(bad, tokens[1]));
  auto const found = history::sessions_failed_since(c.past, c.core, start, 9);
  EXPECT_EQ(found.count, 1u);
  ASSERT_EQ(found.newest.size(), 1u);
  EXPECT_EQ(found.newest[0].session.id, bad);
  EXPECT_EQ(found.newest[0].session.counts.failed, 1u);
  EXPECT_EQ(found.newest[0].closure, of(bad, tokens[0]));
  EXPECT_EQ(found.newest[0].at, start + 1s);
  ASSERT_TRUE(found.newest[0].why);
  EXPECT_EQ(found.newest[0].why->message, "division by zero");
  EXPECT_EQ(history::sessions_failed_since(c.past, c.core, start + 2s, 9).count, 0u);
  EXPECT_TRUE(history::sessions_failed_since(c.past, c.core, start, 0).newest.empty());
}

TEST(job_lists, report_each_ended_job_once) {
  history::job_lists l;
  l.fold(of_sessions({is(one, delivery::job, job_state::running),
                      is(two, delivery::job, job_state::failed, start + 3s)}));
  EXPECT_EQ(l.take_ended(), (std::vector{two}));
  l.fold(of_sessions({is(one, delivery::job, job_state::succeeded, start + 5s)}));
  l.fold(of_sessions({is(one, delivery::job, job_state::succeeded, start + 5s)}));
  EXPECT_EQ(l.take_ended(), (std::vector{one}));
  EXPECT_TRUE(l.take_ended().empty());
}

TEST(job_lists, reported_ends_are_limited) {
  history::job_lists l;
  for (std::uint64_t i = 1; i <= history::job_lists::ended_max + 1; ++i)
    l.fold(of_sessions({is(session_id{i}, delivery::job, job_state::failed, start)}));
  EXPECT_EQ(l.take_ended().size(), history::job_lists::ended_max);
}

}  // namespace
}  // namespace muster::core
