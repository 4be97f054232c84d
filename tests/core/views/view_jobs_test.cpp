#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(view_jobs, a_job_shows_what_it_was_opened_with) {
  cluster c;
  auto spec = left_open(continue_all());
  spec.name = "nightly";
  spec.metadata = R"({"team":"a"})";
  c.wait(5s);
  auto const v = c.job(c.open({"f"}, spec).id);
  EXPECT_EQ(v.name, "nightly");
  EXPECT_EQ(v.metadata, R"({"team":"a"})");
  EXPECT_EQ(v.on_error, on_error::continue_all);
  EXPECT_EQ(v.created, start + 5s);
  EXPECT_EQ(v.finished, time_point{});
  EXPECT_EQ(v.state, job_state::queued);
  EXPECT_TRUE(v.open);
  EXPECT_FALSE(v.stopping);
  EXPECT_FALSE(v.streaming);
  EXPECT_FALSE(v.error);
  EXPECT_EQ(v.counts, (closure_counts{0, 1, 0, 0, 0, 0}));
  EXPECT_TRUE(c.job(c.stream()).streaming);
}

TEST(view_jobs, are_listed_newest_first_page_by_page) {
  cluster c;
  for (int i = 0; i < 5; ++i) c.open({});
  std::vector<std::uint64_t> seen;
  std::vector<std::size_t> sizes;
  session_id before{};
  for (;;) {
    auto const page = c.core.sessions().list(before, 2);
    sizes.push_back(page.items.size());
    for (auto const& v : page.items) seen.push_back(raw(v.id));
    if (!page.next) break;
    before = *page.next;
  }
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{5, 4, 3, 2, 1}));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 2, 1}));
}

TEST(view_jobs, last_page_has_no_next) {
  cluster c;
  EXPECT_TRUE(c.core.sessions().list({}, 10).items.empty());
  c.open({});
  c.open({});
  EXPECT_FALSE(c.core.sessions().list({}, 2).next);
  EXPECT_EQ(c.core.sessions().list({}, 1).next, session_id{2});
}

TEST(view_jobs, session_shows_its_client) {
  cluster c;
  open_session e{{}, resumable_values(), {}, "ipv4:10.0.0.7:51234"};
  auto const r = c.reply_to_event(std::move(e));
  auto const id = std::get<session_reply>(r.body).session;
  EXPECT_EQ(c.job(id).client, "ipv4:10.0.0.7:51234");
  c.step(suspend_session{id});
  EXPECT_EQ(c.job(id).client, "ipv4:10.0.0.7:51234");
  c.ask(resume_session{{}, id, {}, {}, "ipv4:10.0.0.8:4711"});
  EXPECT_EQ(c.job(id).client, "ipv4:10.0.0.8:4711");
}

TEST(view_jobs, session_reports_how_many_closures_a_restart_did_not_keep) {
  config durable;
  durable.durable = true;
  accepted_fact first, second;
  job_fact session;
  session.id = session_id{7};
  session.spec = resumable_values(continue_all());
  session.created = start;
  for (std::uint32_t i = 0; i < 4; ++i) {
    auto& to = i < 2 ? first : second;
    to.job = session.id;
    to.first = i < 2 ? 0 : 5;  // the request in between was removed
    to.created = start;
    to.functions = {"f"};
    to.closures.push_back({closure_id{(1ull << 32) + i}, 0, blob("1"), {}, i + 1});
  }
  second.closures.push_back({closure_id{(1ull << 32) + 9}, 0, {}, {}, 9, true});
  cluster after(durable);
  restore_jobs e{{{session, {}, {first, second}, {}}}};
  after.restore(std::move(e));
  auto const v = after.job(session.id);
  EXPECT_EQ(v.counts.total(), 4u);
  EXPECT_EQ(v.not_kept, 4u) << "three between the requests, and the last";
  EXPECT_EQ(after.core.violated_invariant(), "");
  core::schedule more;
  more.session = session.id;
  more.closures.push_back({after.function("f"), 0, 50, blob("1")});
  auto const& said = after.core.step(after.now(), more).facts;
  auto const* const next = said.empty() ? nullptr : std::get_if<accepted_fact>(&said.front());
  ASSERT_TRUE(next);
  EXPECT_EQ(next->first, 8u) << "positions of released closures are not reused, or the next "
                                "start finds two requests there";
}

TEST(view_jobs, page_of_size_zero_is_empty) {
  cluster c;
  c.open({});
  EXPECT_TRUE(c.core.sessions().list({}, 0).items.empty());
  EXPECT_FALSE(c.core.sessions().list({}, 0).next);
}

TEST(view_jobs, a_page_may_begin_at_a_job_that_was_forgotten) {
  cluster c;
  for (int i = 0; i < 3; ++i) c.open({});
  c.ask(delete_session{{}, session_id{2}});
  auto const page = c.core.sessions().list(session_id{2}, 10);
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].id, session_id{1});
}

TEST(view_jobs, functions_count_the_outcomes_of_their_closures) {
  cluster c;
  auto const w = c.attach({.functions = {"f", "g"}});
  auto const job = c.open({"f", "f", "f", "g"}, continue_all());
  c.succeed(w, job[0]);
  c.fail(w, job[1]);
  c.ask(cancel_closure{{}, job[3]});
  auto const all = c.core.functions().all();
  ASSERT_EQ(all.size(), 2u);
  auto const& f = all[0].name == "f" ? all[0] : all[1];
  auto const& g = all[0].name == "f" ? all[1] : all[0];
  EXPECT_EQ(f.workers, 1u);
  EXPECT_EQ(f.queued, 0u);
  EXPECT_EQ(f.running, 1u);
  EXPECT_EQ(f.succeeded, 1u);
  EXPECT_EQ(f.failed, 1u);
  EXPECT_EQ(g.cancelled, 1u);
  EXPECT_EQ(g.queued, 0u);
  c.lose(w);
  EXPECT_EQ(c.core.functions().all()[0].running + c.core.functions().all()[1].running, 0u);
  EXPECT_EQ(c.core.functions().all()[0].queued + c.core.functions().all()[1].queued, 1u);
}

TEST(overview, counts_tasks_closures_values_jobs_and_calls) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  c.lose(c.attach({.functions = {}}));
  c.leave(c.attach({.functions = {}, .index = 7}));
  c.stream();
  auto const ok = c.open({"f"});
  c.succeed(w, ok[0], "123");
  auto const bad = c.open({"f"});
  c.fail(w, bad[0]);
  auto const gone = c.open({"g"});
  c.ask(cancel_session{{}, gone.id});
  auto const left = c.open({"f", "f", "f"});
  c.park(join_session{{}, left.id, never});
  auto const v = c.core.overview(c.now());
  EXPECT_EQ(v.tasks_connected, 1u);
  EXPECT_EQ(v.tasks_late, 0u);
  EXPECT_EQ(v.tasks_error, 1u);
  EXPECT_EQ(v.tasks_disconnected, 1u);
  EXPECT_EQ(v.closures, (closure_counts{0, 1, 2, 1, 1, 1}));
  EXPECT_EQ(v.values_not_ready, 3u);
  EXPECT_EQ(v.values_ready, 3u);
  EXPECT_EQ(v.values_aborted, 0u);
  EXPECT_EQ(v.values_held, 3u);
  EXPECT_EQ(v.values_held_bytes, 3u);
  EXPECT_EQ(v.jobs_running, 1u);
  EXPECT_EQ(v.jobs_succeeded, 1u);
  EXPECT_EQ(v.jobs_failed, 1u);
  EXPECT_EQ(v.jobs_cancelled, 1u);
  EXPECT_EQ(v.sessions, 1u);
  EXPECT_EQ(v.parked_calls, 1u);
}

TEST(overview, heartbeat_ages_are_quantiles_over_the_present_tasks) {
  cluster c;
  EXPECT_EQ(c.core.overview(c.now()).heartbeat_max, 0s);
  c.lose(c.attach({.index = 1'000}));
  for (int i = 0; i < 100; ++i) {
    c.attach({.index = i});
    c.wait(10ms);
  }
  auto const v = c.core.overview(c.now());  // ages 10 ms, 20 ms … 1000 ms
  EXPECT_EQ(v.heartbeat_p50, 500ms);
  EXPECT_EQ(v.heartbeat_p99, 990ms);
  EXPECT_EQ(v.heartbeat_max, 1000ms);
  cluster one;
  one.attach();
  one.advance(13s);
  EXPECT_EQ(one.core.overview(one.now()).tasks_late, 1u);
  EXPECT_EQ(one.core.overview(one.now()).heartbeat_p99, 13s);
}

}  // namespace
}  // namespace muster::core
