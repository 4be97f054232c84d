#include "tests/hub/durable_jobs.hpp"

#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/session_queries.hpp"

namespace muster::server {
namespace durable_cases {

TEST_F(durable_jobs, are_acknowledged_only_when_stored) {
  open("a");
  EXPECT_EQ(log, "");
  ASSERT_EQ(facts.size(), 2u) << "the job and its closure";
  open("b", false);
  EXPECT_EQ(facts.size(), 2u);
  EXPECT_EQ(log, "b ") << "nothing about it is ever stored";
  EXPECT_TRUE(h->learn({"g"}).status.ok());
  open("c");
  commits.on_durable(1, {}, at);
  EXPECT_EQ(log, "b a ");
  commits.on_durable(2, {}, at);
  EXPECT_EQ(log, "b a c ") << "the disk has everything";
}

TEST_F(durable_jobs, acknowledgement_waits_only_for_the_jobs_own_changes) {
  auto const told = [this](std::string const& name) {
    return [this, name](muster::status const& lost) { log += name + (lost.ok() ? " " : "! "); };
  };
  auto const opened = [&](std::string const& name) {
    open(name);
    return h->state().sessions().list({}, 1).items.at(0).id;
  };
  auto const a = opened("a");
  commits.on_durable(1, {}, at);
  auto const b = opened("b");
  log.clear();
  h->when_durable(a, told("a"));
  h->when_durable(core::session_id{4'711}, told("nothing"));
  EXPECT_EQ(log, "a nothing ");
  h->when_durable(b, told("b"));
  h->ask(core::join_session{{}, b, at, core::join_mode::watch}, [&](core::reply const& r) {
    told("join b")({r.status.code, ""});
  });
  EXPECT_EQ(log, "a nothing ");
  commits.on_durable(1, {code::internal, "no space"}, at);
  EXPECT_NE(log.find("b! "), std::string::npos) << log;
  log.clear();
  h->when_durable(a, told("a"));
  h->when_durable(b, told("b"));
  EXPECT_EQ(log, "a b! ") << "it was refused and is never reported";
}

TEST_F(durable_jobs, job_with_another_jobs_value_waits_for_that_value) {
  hub_worker w;
  w.attach(*h);
  auto const submit = [this](std::optional<bool> durable, core::closure_id input) {
    auto j = job(durable);
    if (input != core::closure_id{}) {
      auto extras = std::make_shared<core::closure_extras>();
      core::input_ref taken;
      taken.closure = input;
      taken.offset = 1;
      extras->inputs.push_back(taken);
      j.closures[0].extras = extras;
      j.closures[0].args = core::blob("[]");
    }
    auto made = std::make_shared<core::session_reply>();
    h->ask(std::move(j), [made](core::reply const& r) {
      if (r.status.ok()) *made = std::get<core::session_reply>(r.body);
    });
    commits.on_durable(written, {}, at);
    return *made;
  };
  auto const source = submit(true, {});
  auto const taker = submit(false, source.closures.at(0));
  auto const second = submit(false, taker.closures.at(0));
  auto const other = submit(false, {});
  ASSERT_EQ(w.held.at(0).closure, source.closures.at(0));
  w.succeed(*h, "2", 1);
  auto const ask = [&](std::string const& name, core::session_id s) {
    h->when_durable(
        s, [this, name](muster::status const& lost) { log += name + (lost.ok() ? " " : "! "); });
  };
  ask("source", source.session);
  ask("taker", taker.session);
  ask("second", second.session);
  ask("other", other.session);
  EXPECT_EQ(log, "other ");
  commits.on_durable(written, {}, at);
  EXPECT_EQ(log, "other source taker second ");
}

// A taker that is requested repeatedly would be kept forever.
TEST_F(durable_jobs, unknown_session_cannot_take_a_value) {
  open("a");
  core::schedule e;
  e.session = core::session_id{4'711};
  auto extras = std::make_shared<core::closure_extras>();
  core::input_ref taken;
  auto const a = h->state().sessions().list({}, 1).items.at(0).id;
  taken.closure = h->state().closures().list(a, 0, 1)->items.at(0).id;
  taken.offset = 1;
  extras->inputs.push_back(taken);
  e.closures.push_back({h->learn({"f"}).ids.at(0), 0, 0, core::blob("[]"), extras});
  h->ask(std::move(e), [](core::reply const& r) { EXPECT_FALSE(r.status.ok()); });
  h->when_durable(core::session_id{4'711}, [this](auto const&) { log += "nothing "; });
  EXPECT_EQ(log, "nothing ");
}

TEST_F(durable_jobs, outcome_is_sent_when_it_is_stored) {
  hub_worker w;
  w.attach(*h);
  open("a");
  ASSERT_EQ(w.held.size(), 1u) << "work does not wait for the disk";
  core::await_value v;
  v.closure = w.held[0].closure;
  h->ask(v, [this](core::reply const&) { log += "value "; });
  commits.on_durable(1, {}, at);
  EXPECT_EQ(log, "a ");
  w.succeed(*h);
  EXPECT_EQ(log, "a ");
  commits.on_durable(2, {}, at);
  EXPECT_EQ(log, "a value ");
}

TEST_F(durable_jobs, are_refused_when_too_much_waits_or_the_disk_has_failed) {
  auto const kept = open("a");
  commits.on_durable(1, {}, at);
  full = true;
  open("b");
  open("c", false);
  EXPECT_EQ(log, "a b! c ");
  full = false;
  open("d");
  commits.on_durable(1, {code::internal, "no space"}, at);
  EXPECT_EQ(log, "a b! c d! ") << "it is not on the disk and never will be";
  open("e");
  open("f", false);
  (void)kept;
  EXPECT_EQ(log, "a b! c d! e! f ");
  EXPECT_EQ(commits.failed().code, code::unavailable);
}

TEST_F(durable_jobs, lost_job_is_not_returned_for_its_idempotency_key) {
  auto const submit = [this](std::string const& name, std::string const& digest) {
    auto e = job();
    e.spec.idempotency_key = "once";
    e.spec.request_digest = digest;
    h->ask(std::move(e), [this, name](core::reply const& r) {
      log += name + (r.status.ok() ? " " : r.status.code == code::unavailable ? "! " : "? ");
    });
  };
  submit("first", "x");
  submit("same", "x");
  submit("other", "y");
  EXPECT_EQ(log, "");
  commits.on_durable(0, {code::internal, "no space"}, at);
  EXPECT_EQ(log, "first! same! other! ");
}

TEST_F(durable_jobs, are_found_by_their_key_although_the_disk_is_full) {
  auto const submit = [this](std::string const& name) {
    auto e = job();
    e.spec.idempotency_key = "once";
    h->ask(std::move(e),
           [this, name](core::reply const& r) { log += name + (r.status.ok() ? " " : "! "); });
  };
  submit("first");
  commits.on_durable(written, {}, at);
  full = true;
  submit("same");
  open("other");
  EXPECT_EQ(log, "first same other! ");
}

TEST_F(durable_sessions, outcomes_are_sent_in_order_when_they_are_stored) {
  h->sessions().run_after_pending_commits(session, [this] { log += "opened "; });
  EXPECT_EQ(log, "");
  schedule(session, {7});
  ASSERT_EQ(w.held.size(), 1u) << "work does not wait for the disk";
  answer_all();
  EXPECT_TRUE(s.tokens.empty());
  commits.on_durable(written - 1, {}, at);
  EXPECT_EQ(log, "opened ");
  EXPECT_TRUE(s.tokens.empty()) << "its acceptance is stored, its outcome is not";
  commits.on_durable(written, {}, at);
  EXPECT_EQ(s.tokens, std::vector<std::uint64_t>{7});
}

TEST_F(durable_sessions, other_sessions_do_not_wait) {
  recording_session fast;
  auto const other = held(false);
  h->attach(other, fast);
  schedule(session, {1});
  schedule(other, {2});
  answer_all();
  EXPECT_EQ(fast.tokens, std::vector<std::uint64_t>{2});
  EXPECT_TRUE(s.tokens.empty());
  h->sessions().run_after_pending_commits(other, [this] { log += "at once "; });
  EXPECT_EQ(log, "at once ");
}

TEST_F(durable_sessions, stream_ends_when_the_disk_has_failed) {
  schedule(session, {1});
  answer_all();
  commits.on_durable(1, {code::internal, "no space"}, at);
  EXPECT_NE(s.lost.find("no space"), std::string::npos);
  EXPECT_TRUE(s.tokens.empty());
  core::resume_session e;
  e.session = session;
  e.tokens = {1};
  EXPECT_EQ(h->ask_now(e).status.code, code::unavailable);
  schedule(session, {1});  // of a stream that has not ended yet
  EXPECT_TRUE(s.tokens.empty());
  EXPECT_EQ(held({}), core::session_id{}) << "refused";
  EXPECT_NE(held(false), core::session_id{});
}

TEST_F(durable_sessions, nothing_is_read_while_too_much_waits_for_the_disk) {
  EXPECT_FALSE(h->sessions().is_paused(session));
  full = true;
  EXPECT_TRUE(h->sessions().is_paused(session));
  auto const other = held(false);
  recording_session fast;
  h->attach(other, fast);
  EXPECT_FALSE(h->sessions().is_paused(other));
}

TEST_F(durable_sessions, released_closures_are_removed_by_request) {
  schedule(session, {1});
  answer_all();
  facts.clear();
  h->apply(core::release_values{{}, session, {1}, {}});
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(std::get<core::request_removed>(facts[0]), (core::request_removed{session, 0, 1}));
  schedule(session, {2, 3});
  answer_all();
  facts.clear();
  h->apply(core::release_values{{}, session, {3}, {}});
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(std::get<core::closure_removed>(facts[0]), (core::closure_removed{session, 2}));
  facts.clear();
  h->apply(core::release_values{{}, session, {2}, {}});
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(std::get<core::request_removed>(facts[0]), (core::request_removed{session, 1, 2}));
}

TEST_F(durable_jobs, are_removed_with_their_cluster) {
  open("a");
  commits.on_durable(1, {}, at);
  facts.clear();
  h->close("the cluster was deleted");
  ASSERT_FALSE(facts.empty());
  EXPECT_TRUE(std::holds_alternative<core::job_removed>(facts.front()));
}

TEST_F(durable_jobs, callers_of_a_destroyed_hub_get_no_reply) {
  open("a");
  h.reset();
  commits.on_durable(1, {}, at);
  EXPECT_EQ(log, "");
}

}  // namespace durable_cases
}  // namespace muster::server
