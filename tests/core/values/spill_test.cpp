#include <map>

#include "tests/core/fixture.hpp"

namespace muster::core {

std::string text(closure_id id);  // defined by the coordinator
namespace {

std::string value(char c = 'x', std::size_t size = 100) {
  return "\"" + std::string(size - 2, c) + "\"";
}

struct spilling_cluster {
  static config small() {
    config c;
    c.spill = true;
    c.value_bytes_max = 400;
    c.spill_above = 150;
    c.spill_value_bytes_min = 10;
    return c;
  }
  explicit spilling_cluster(config const& settings = small()) : c(settings) {}

  /// Returns the moves of the last step.
  std::vector<closure_id> asked(move_kind kind) const {
    std::vector<closure_id> all;
    for (auto const& m : c.fx().value_moves)
      if (m.kind == kind) all.push_back(m.closure);
    return all;
  }
  void write_all() {
    values_moved e;
    for (auto const& m : c.fx().value_moves)
      if (m.kind == move_kind::write) {
        disk[m.closure] = m.value;
        e.moves.push_back({move_kind::write, m.closure, true, {}, {}});
      }
    if (!e.moves.empty()) c.step(std::move(e));
  }
  effects const& written(closure_id id, bool ok = true) {
    return c.step(values_moved{{{move_kind::write, id, ok, {}, ok ? "" : "no space left"}}});
  }
  effects const& read(closure_id id) {
    return c.step(values_moved{{{move_kind::read, id, true, disk.at(id), {}}}});
  }
  effects const& unreadable(closure_id id) {
    return c.step(values_moved{{{move_kind::read, id, false, {}, "checksum does not match"}}});
  }
  closure_id finished(char content = 'x') {
    auto const job = c.open({"f"}).closures.at(0);
    c.succeed(w, job, value(content));
    return job;
  }
  /// Creates two closures and returns the first, whose value is on the disk.
  closure_id on_disk(char content = 'x') {
    auto const first = finished(content);
    finished('y');
    write_all();
    return first;
  }
  closure_view view(closure_id id) const { return c.core.closures().find(id).value(); }
  overview_view overview() const { return c.core.overview(c.now()); }

  cluster c;
  stream_id w = c.attach({.credits = 16});
  std::map<closure_id, blob> disk;
};

struct spilling : testing::Test, spilling_cluster {};

TEST_F(spilling, the_oldest_values_beyond_the_limit_are_written) {
  auto const a = finished();
  EXPECT_TRUE(c.fx().value_moves.empty());
  auto const b = finished();
  EXPECT_EQ(asked(move_kind::write), closures{a});
  EXPECT_EQ(c.fx().value_moves[0].value.view(), value());
  EXPECT_EQ(overview().values_spilled, 0u) << "still in memory";
  written(a);
  EXPECT_EQ(overview().values_spilled, 1u);
  EXPECT_EQ(overview().values_spilled_bytes, 100u);
  EXPECT_EQ(overview().values_held_bytes, 200u);
  EXPECT_TRUE(view(a).spilled);
  EXPECT_EQ(view(a).value_bytes, 100u);
  EXPECT_FALSE(view(b).spilled);
}

TEST_F(spilling, small_values_stay_in_memory) {
  for (int i = 0; i < 100; ++i) c.succeed(w, c.open({"f"})[0], "12");
  EXPECT_TRUE(asked(move_kind::write).empty());
}

TEST_F(spilling, value_is_read_once_for_all_waiting_callers) {
  auto const a = on_disk('a');
  auto const first = c.park(await_value{{}, a, c.now() + 5s});
  EXPECT_EQ(asked(move_kind::read), closures{a});
  auto const second = c.park(await_value{{}, a, c.now() + 5s});
  EXPECT_TRUE(asked(move_kind::read).empty()) << "read once for both";
  read(a);
  for (auto const call : {first, second})
    EXPECT_EQ(std::get<value_reply>(c.reply_to(call)->body).data.view(), value('a'));
  EXPECT_TRUE(view(a).spilled) << "stays where it is";
  c.park(await_value{{}, a, c.now() + 5s});
  EXPECT_EQ(asked(move_kind::read), closures{a});
}

TEST_F(spilling, slow_read_is_reported_at_the_deadline) {
  auto const a = on_disk();
  auto const call = c.park(await_value{{}, a, c.now() + 5s});
  c.advance(5s);
  EXPECT_EQ(c.reply_to(call)->status.message, text(a) + " is still being read from disk");
  read(a);
}

TEST_F(spilling, a_value_is_read_back_as_an_input) {
  auto const a = on_disk('a');
  auto spec = c.specs({"f"}).front();
  spec.args = blob("[,]");
  spec.extras = std::make_shared<closure_extras>(closure_extras{{}, {{a, 0, 1}, {a, 0, 2}}, {}});
  auto const job = c.open_with({spec});
  EXPECT_EQ(c.state(job[0]), closure_state::blocked);
  EXPECT_EQ(c.core.closures().explain(job[0], c.now())->why, closure_reason::input_read_back);
  read(a);
  ASSERT_EQ(c.fx().assignments.size(), 1u);
  EXPECT_EQ(c.fx().assignments[0].inputs->at(0).view(), value('a'));
  EXPECT_EQ(c.fx().assignments[0].inputs->at(1).view(), value('a'));
}

TEST_F(spilling, removed_value_is_deleted_from_the_disk) {
  auto const a = finished();
  auto const b = finished();
  c.ask(delete_session{{}, view(a).job});  // while it is being written
  EXPECT_EQ(asked(move_kind::forget), closures{a});
  written(a);
  finished();
  EXPECT_EQ(asked(move_kind::write), closures{b});
  written(b);
  c.ask(delete_session{{}, view(b).job});
  EXPECT_EQ(asked(move_kind::forget), closures{b});
  EXPECT_EQ(overview().values_spilled, 0u);
}

TEST_F(spilling, value_deleted_during_a_read_is_still_delivered_to_waiters) {
  auto const a = on_disk('a');
  auto spec = c.specs({"f"}).front();
  spec.extras = std::make_shared<closure_extras>(closure_extras{{}, {{a, 0, 1}}, {}});
  auto const job = c.open_with({spec});
  auto const call = c.park(await_value{{}, a, c.now() + 5s});
  c.ask(delete_session{{}, view(a).job});
  EXPECT_TRUE(asked(move_kind::forget).empty()) << "only after the read";
  read(a);
  EXPECT_EQ(asked(move_kind::forget), closures{a});
  EXPECT_EQ(std::get<value_reply>(c.reply_to(call)->body).data.view(), value('a'));
  EXPECT_EQ(c.state(job[0]), closure_state::running);
}

TEST_F(spilling, unreadable_value_is_released_with_a_reason) {
  auto const a = on_disk();
  c.park(await_value{{}, a, c.now() + 5s});
  unreadable(a);
  EXPECT_EQ(c.said().at(0).kind, log_event_kind::spill_failed);
  EXPECT_EQ(c.said().at(0).text, "checksum does not match");
  EXPECT_EQ(view(a).released, "the value of " + text(a) +
                                  " was released 0 s ago: it could not be read back from "
                                  "--spill-dir; see the server log for the reason");
  EXPECT_EQ(view(a).value, value_state::aborted);
  EXPECT_EQ(c.past.metrics().values_dropped[static_cast<std::size_t>(release_reason::unreadable)],
            1u);
}

TEST_F(spilling, full_disk_keeps_values_in_memory_until_memory_is_full) {
  auto const a = finished();
  auto const b = finished();
  written(a, false);
  ASSERT_EQ(c.said().size(), 1u);
  EXPECT_EQ(c.said()[0].kind, log_event_kind::spill_failed);
  EXPECT_EQ(c.said()[0].text,
            "no space left; values stay in memory up to --value-bytes-max, then the oldest values "
            "are dropped");
  finished();
  finished();
  EXPECT_TRUE(c.fx().value_moves.empty()) << "not retried at once";
  EXPECT_EQ(c.status_of(await_value{{}, a, c.now()}).code, code::ok);
  finished();
  EXPECT_EQ(view(a).released,
            "the value of " + text(a) +
                " was released 0 s ago: values used more memory than --value-bytes-max (400 "
                "bytes), and they could not be spilled to --spill-dir");
  EXPECT_EQ(c.state(a), closure_state::succeeded) << "it did run";
  EXPECT_EQ(c.status_of(await_value{{}, b, c.now()}).code, code::ok);
  c.wait(10s);
  c.tick();
  EXPECT_EQ(asked(move_kind::write).at(0), b) << "retried";
}

TEST_F(spilling, oldest_spilled_values_are_dropped_beyond_the_limit) {
  auto settings = small();
  settings.spill_bytes_max = 250;
  spilling_cluster limited(settings);
  closures all;
  for (int i = 0; i < 5; ++i) {
    all.push_back(limited.finished());
    limited.write_all();
  }
  EXPECT_EQ(limited.overview().values_spilled, 2u);
  EXPECT_EQ(limited.view(all[0]).released,
            "the value of " + text(all[0]) +
                " was released 0 s ago: values on disk used more than --spill-bytes-max (250 "
                "bytes)");
}

TEST_F(spilling, reads_are_limited_and_take_turns) {
  closures all;
  for (int i = 0; i < 80; ++i) {
    all.push_back(finished());
    write_all();
  }
  std::size_t sent = 0;
  for (int i = 0; i < 70; ++i) {
    c.park(await_value{{}, all[static_cast<std::size_t>(i)], c.now() + 5s});
    sent += asked(move_kind::read).size();
  }
  EXPECT_EQ(sent, 64u);
  read(all[0]);
  EXPECT_EQ(asked(move_kind::read), closures{all[64]});
}

struct spilled_session : spilling {
  spilled_session() { session = c.open({}, resumable_values()).id; }
  closure_id scheduled(char content) {
    token = c.schedule(session, {"f"}).at(0);
    auto const id = c.core.closure_of(session, token);
    c.succeed(w, id, value(content));
    return id;
  }
  session_id session{};
  std::uint64_t token = 0;
};

TEST_F(spilled_session, repeated_outcome_is_read_back_before_the_session_drains) {
  auto const a = scheduled('a');
  auto const asked_again = token;
  auto const b = scheduled('b');
  written(a);
  c.step(suspend_session{session});
  c.ask(resume_session{{}, session, {asked_again, token}});
  auto again = c.specs({"f"}).front();
  again.token = asked_again;
  c.step(core::schedule{{}, session, {again}});
  EXPECT_EQ(asked(move_kind::read), closures{a});
  EXPECT_TRUE(c.fx().outcomes.empty());
  auto const join = c.park(join_session{{}, session, never, join_mode::drain});
  disk[a] = blob(value('a'));
  read(a);
  ASSERT_EQ(c.fx().outcomes.size(), 1u);
  EXPECT_EQ(c.fx().outcomes[0].token, asked_again);
  EXPECT_EQ(c.fx().outcomes[0].value.view(), value('a'));
  EXPECT_TRUE(c.reply_to(join));
  EXPECT_EQ(c.job(session).value_bytes, 200u);
  c.ask(release_values{{}, session, {}, {a, b}});
  EXPECT_EQ(asked(move_kind::forget), closures{a});
  EXPECT_EQ(c.status_of(await_value{{}, a, c.now()}).message,
            "the value of " + text(a) +
                " was released 0 s ago: its client released it, or received it on completion");
}

TEST_F(spilled_session, repeated_outcome_of_a_dropped_value_reports_the_reason) {
  auto const a = scheduled('a');
  auto const first = token;
  scheduled('b');
  written(a);
  c.park(await_value{{}, a, c.now() + 5s});
  unreadable(a);
  auto again = c.specs({"f"}).front();
  again.token = first;
  c.step(core::schedule{{}, session, {again}});
  ASSERT_EQ(c.fx().outcomes.size(), 1u);
  EXPECT_FALSE(c.fx().outcomes[0].ok);
  EXPECT_EQ(c.fx().outcomes[0].failure->kind, failure_kind::cancelled);
  EXPECT_TRUE(c.fx().assignments.empty());
}

}  // namespace
}  // namespace muster::core
