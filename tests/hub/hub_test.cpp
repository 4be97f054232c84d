#include "server/hub/hub.hpp"

#include <gtest/gtest.h>

#include "tests/support/hub_sinks.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;

struct hub_test : ::testing::Test {
  core::time_point clock{1s};
  core::time_point armed = core::never;
  hub h{{}, {[this] { return clock; }, [this](core::time_point t) { armed = t; }}};

  core::stream_id attach(hub_worker& w, std::uint64_t incarnation) {
    core::worker_spec spec;
    spec.incarnation = core::incarnation{incarnation};
    return w.attach(h, spec);
  }
  core::reply open(core::open_session e) {
    core::reply got;
    h.ask(std::move(e), [&](core::reply const& r) { got = r; });
    return got;
  }
  core::open_session job(std::size_t n) {
    core::open_session e;
    for (std::size_t i = 0; i < n; ++i) e.closures.push_back({h.learn({"f"}).ids.at(0), 0, i, {}});
    return e;
  }
};

TEST_F(hub_test, a_worker_gets_its_welcome_and_its_closures) {
  hub_worker w;
  attach(w, 1);
  EXPECT_EQ(w.index, 0);
  auto const r = open(job(1));
  ASSERT_TRUE(r.status.ok());
  ASSERT_EQ(w.held.size(), 1u);
  EXPECT_EQ(w.held[0].closure, std::get<core::session_reply>(r.body).closures.at(0));
}

TEST_F(hub_test, the_timer_follows_the_cores_next_deadline) {
  hub_worker w;
  attach(w, 1);
  EXPECT_EQ(armed, clock + h.state().configuration().late_after());
}

TEST_F(hub_test, silent_worker_is_notified_and_removed_when_the_timer_fires) {
  hub_worker w;
  attach(w, 1);
  clock = armed;
  h.on_deadline();  // late
  clock = armed;
  h.on_deadline();  // lost
  EXPECT_EQ(w.ended.code, muster::code::deadline_exceeded);
  open(job(1));
  EXPECT_TRUE(w.held.empty());
}

TEST_F(hub_test, a_parked_call_is_answered_once_at_its_deadline) {
  auto const opened = std::get<core::session_reply>(open(job(1)).body);
  int answers = 0;
  core::join_session join{{}, opened.session, clock + 1s};
  h.ask(join, [&](core::reply const& r) {
    ++answers;
    EXPECT_EQ(r.status.code, muster::code::deadline_exceeded);
  });
  EXPECT_EQ(answers, 0);
  clock += 1s;
  h.on_deadline();
  h.on_deadline();
  EXPECT_EQ(answers, 1);
}

TEST_F(hub_test, a_forgotten_call_is_never_answered) {
  auto const opened = std::get<core::session_reply>(open(job(1)).body);
  int answers = 0;
  auto const call = h.ask(core::join_session{{}, opened.session, clock + 1s},
                          [&](core::reply const&) { ++answers; });
  h.forget(call);
  EXPECT_EQ(h.state().overview(clock).parked_calls, 0u);
  clock += 2s;
  h.on_deadline();
  EXPECT_EQ(answers, 0);
}

TEST_F(hub_test, a_reply_handler_may_use_the_hub_again) {
  hub_worker w;
  attach(w, 1);
  auto const opened = std::get<core::session_reply>(open(job(1)).body);
  bool deleted = false;
  h.ask(core::join_session{{}, opened.session, core::never}, [&](core::reply const&) {
    h.ask(core::delete_session{{}, opened.session},
          [&](core::reply const& r) { deleted = r.status.ok(); });
  });
  w.succeed(h);
  EXPECT_TRUE(deleted);
}

TEST_F(hub_test, outcomes_reach_their_own_session_only) {
  hub_worker w;
  attach(w, 1);
  recording_session a, b;
  core::session_id ids[2];
  recording_session* sinks[2] = {&a, &b};
  for (int i = 0; i < 2; ++i) {
    core::open_session e;
    e.spec.delivery = core::delivery::stream;
    e.spec.open = true;
    ids[i] = std::get<core::session_reply>(open(e).body).session;
    h.attach(ids[i], *sinks[i]);
  }
  for (std::uint64_t i = 0; i < 2; ++i)
    h.apply(core::schedule{{}, ids[i], {{h.learn({"f"}).ids.at(0), 0, 10 + i, {}}}});
  while (!w.held.empty()) w.succeed(h);
  EXPECT_EQ(a.tokens, std::vector<std::uint64_t>{10});
  EXPECT_EQ(b.tokens, std::vector<std::uint64_t>{11});
}

TEST_F(hub_test, replaced_worker_is_disconnected_for_good) {
  hub_worker old, young;
  attach(old, 1);
  core::worker_spec same_place;
  same_place.index = 0;
  young.attach(h, same_place);
  EXPECT_EQ(old.ended.code, muster::code::already_exists);
  EXPECT_TRUE(old.final);
}

TEST_F(hub_test, only_the_holder_of_a_closure_can_report_for_it) {
  hub_worker w, other;
  auto const stream = attach(w, 1);
  auto const opened = std::get<core::session_reply>(open(job(1)).body);
  auto const stranger = attach(other, 2);
  auto const closure = opened.closures.at(0);
  auto const say = [&](core::stream_id from, std::uint32_t attempt) {
    log_line l;
    l.closure = closure;
    l.attempt = attempt;
    l.text = "x";
    h.report(from, l);
    h.report(from, closure, {0.5, "half", {}, attempt});
  };
  say(stranger, 1);
  say(stream, 2);
  EXPECT_EQ(h.logs().count().strays, 4u);
  EXPECT_EQ(h.logs().count().closures, 0u);
  say(stream, 1);
  EXPECT_EQ(h.logs().after({opened.session, closure}, 0, 10).lines.size(), 1u);
  EXPECT_EQ(h.logs().progress(closure)->text, "half");

  w.succeed(h);
  say(stream, 1);  // too late
  EXPECT_EQ(h.logs().count().strays, 6u);
  EXPECT_EQ(h.logs().after({opened.session, {}}, 0, 10).lines.size(), 1u);
  h.ask(core::delete_session{{}, opened.session}, [](core::reply const&) {});
  EXPECT_EQ(h.logs().count().bytes, 0u);
}

TEST_F(hub_test, new_sink_of_a_session_replaces_the_old_one) {
  recording_session first, second;
  h.attach(core::session_id{1}, first);
  h.attach(core::session_id{1}, second);
  EXPECT_TRUE(first.taken_over);
  EXPECT_FALSE(second.taken_over);
  h.detach(core::session_id{1});
}

}  // namespace
}  // namespace muster::server
