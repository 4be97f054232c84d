#include "tests/core/fixture.hpp"

namespace muster::core {

std::string text(closure_id id);  // defined by the coordinator
namespace lineage_cases {

std::string value(char c) {
  return "\"" + std::string(98, c) + "\"";
}

struct lineage : testing::Test {
  static config small() {
    config c;
    c.spill = true;
    c.value_bytes_max = 10'000;
    c.spill_above = 1;
    c.spill_value_bytes_min = 10;
    return c;
  }
  closure_id scheduled(std::string_view args, closures const& inputs = {}) {
    closure_spec s;
    s.function = c.function("f");
    s.args = blob(args);
    if (!inputs.empty()) {
      auto x = std::make_shared<closure_extras>();
      for (auto const i : inputs) x->inputs.push_back({i, 0, 1});
      s.extras = std::move(x);
    }
    return c.open_with({s})[0];
  }
  /// Creates a closure whose value is on the disk.
  closure_id on_disk(std::string_view args, closures const& inputs = {}, char v = 'a') {
    auto const id = scheduled(args, inputs);
    c.succeed(w, id, value(v));
    c.step(values_moved{{{move_kind::write, id, true, {}, {}}}});
    return id;
  }
  void unreadable(closure_id id) {
    c.step(values_moved{{{move_kind::read, id, false, {}, "input/output error"}}});
  }
  closure_id only_held() const {
    auto const all = c.held(w);
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? closure_id{} : all[0];
  }

  cluster c{small()};
  stream_id w = c.attach({.credits = 8});
};

TEST_F(lineage, lost_input_is_recomputed_on_demand) {
  auto const a = on_disk("[1]");
  auto const b = scheduled("[]", {a});
  unreadable(a);
  auto const again = only_held();
  EXPECT_NE(again, a);
  EXPECT_EQ(c.fx().assignments.at(0).args.view(), "[1]");
  EXPECT_EQ(c.state(b), closure_state::blocked);
  auto const why = *c.core.closures().explain(b, c.now());
  EXPECT_EQ(why.why, closure_reason::input_made_again);
  EXPECT_EQ(why.input, a);
  EXPECT_EQ(why.place->made_by, again);
  c.succeed(w, again, value('z'));
  EXPECT_EQ(c.held(w), closures{b});
  EXPECT_EQ(c.fx().assignments.at(0).inputs->at(0).view(), value('z'));
  auto const seen = c.core.closures().find(a).value();
  EXPECT_EQ(seen.attempts.at(0).outcome, (attempt_outcome{attempt_end::value_lost, {}, again}));
  EXPECT_EQ(seen.data.view(), value('z')) << "it is kept again";
  EXPECT_EQ(c.job(seen.job).counts.succeeded, 1u) << "its job is unchanged";
  EXPECT_EQ(c.core.closures().explain(a, c.now())->lost.how, attempt_end::value_lost);
}

TEST_F(lineage, value_in_the_memory_of_a_lost_worker_is_recomputed) {
  auto const name = R"({"$blob":")" + std::string(64, 'a') + R"(","bytes":5000000})";
  auto const a = scheduled("[1]");
  c.succeed(w, a, name);
  auto const ready = scheduled("[2]");
  c.succeed(w, ready, value('r'));
  c.step(values_moved{{{move_kind::lost, a, false, {}, "its worker is gone"},
                       {move_kind::lost, ready, false, {}, "it names nothing"},
                       {move_kind::lost, closure_id{1}, false, {}, "nobody knows it"}}});
  EXPECT_NE(c.core.closures().find(a)->released.find("it was only in the memory of a worker"),
            std::string::npos);
  EXPECT_EQ(c.core.closures().find(ready)->data.view(), value('r'));
  auto const call = c.park(await_value{{}, a, never});
  EXPECT_EQ(c.fx().assignments.at(0).args.view(), "[1]");
  c.succeed(w, only_held(), name);
  EXPECT_EQ(std::get<value_reply>(c.reply_to(call)->body).data.view(), name);
  EXPECT_EQ(c.core.closures().find(a)->data.view(), name);
}

TEST_F(lineage, explanation_names_the_lost_input_its_size_owner_and_time) {
  auto const name = R"({"$blob":")" + std::string(64, 'a') + R"(","bytes":5000000})";
  auto const a = scheduled("[1]");
  c.succeed(w, a, name);
  auto const begun = scheduled("[]", {a});
  worker_results waits{w, {}, {}, {}, {}};
  waits.waits.push_back({begun, c.watch().attempt(begun), true});
  c.step(waits);
  auto const running = *c.core.closures().explain(begun, c.now());
  EXPECT_EQ(running.why, closure_reason::running);
  ASSERT_TRUE(running.waits);
  ASSERT_EQ(running.waits->large.size(), 1u);
  EXPECT_EQ(running.waits->large[0], (std::pair{a, std::string(64, 'a')}));
  c.step(values_moved{{{move_kind::lost, a, false, {}, "its worker is gone"}}});
  auto const b = scheduled("[]", {a});
  auto const again = c.fx().assignments.at(0).closure;
  c.advance(2s);
  for (auto const waiting : {begun, b}) {
    auto const why = *c.core.closures().explain(waiting, c.now());
    EXPECT_EQ(why.why, closure_reason::input_made_again);
    EXPECT_EQ(why.input, a);
    EXPECT_EQ(*why.place, (input_place{5'000'000, false, {"worker:0"}, again, 2s}));
  }
}

TEST_F(lineage, recomputation_receives_the_same_number_of_workers) {
  session_spec declared;
  declared.num_workers = 7;
  auto const a = c.open({"f"}, declared)[0];
  EXPECT_EQ(c.fx().assignments.at(0).num_workers, 7u);
  c.succeed(w, a, value('a'));
  c.step(values_moved{{{move_kind::write, a, true, {}, {}}}});
  auto const b = scheduled("[]", {a});
  unreadable(a);
  EXPECT_EQ(c.fx().assignments.at(0).num_workers, 7u);
  c.succeed(w, only_held(), value('z'));
  EXPECT_EQ(c.held(w), closures{b});
  EXPECT_EQ(c.fx().assignments.at(0).num_workers, 0u) << "another job without declarations";
}

TEST_F(lineage, fetches_of_the_value_wait_for_the_recomputation) {
  auto const a = on_disk("[1]");
  auto const first = c.park(await_value{{}, a, never});
  unreadable(a);
  auto const second = c.park(await_value{{}, a, never});
  c.succeed(w, only_held(), value('z'));
  for (auto const call : {first, second})
    EXPECT_EQ(std::get<value_reply>(c.reply_to(call)->body).data.view(), value('z'));
}

TEST_F(lineage, lost_inputs_are_recomputed_first) {
  auto const a = on_disk("[1]");
  auto const b = scheduled("[,2]", {a});
  c.step(values_moved{{{move_kind::read, a, true, blob(value('a')), {}}}});
  c.succeed(w, b, value('b'));
  c.step(values_moved{{{move_kind::write, b, true, {}, {}}}});
  auto const d = scheduled("[3]", {b});
  unreadable(b);  // runs again and needs its input
  EXPECT_TRUE(c.held(w).empty());
  unreadable(a);
  c.succeed(w, only_held(), value('x'));
  EXPECT_EQ(c.fx().assignments.at(0).inputs->at(0).view(), value('x'));
  c.succeed(w, only_held(), value('y'));
  EXPECT_EQ(c.held(w), closures{d});
  EXPECT_EQ(c.fx().assignments.at(0).inputs->at(0).view(), value('y'));
}

TEST_F(lineage, failure_of_the_recomputation_is_reported) {
  auto const a = on_disk("[1]");
  auto const b = scheduled("[]", {a});
  unreadable(a);
  c.fail(w, only_held(), "not today");
  auto const error = c.core.closures().find(b)->error.value();
  EXPECT_EQ(error.kind, failure_kind::input);
  EXPECT_EQ(error.message, "input: the value of " + text(a) +
                               " was released 0 s ago: it could not be read back from "
                               "--spill-dir; see the server log for the reason; running " +
                               text(a) + " again failed: not today");
}

// The missing input may be a blob in the arguments.
TEST_F(lineage, missing_input_in_the_second_run_is_reported_as_its_failure) {
  auto const a = on_disk("[1]");
  auto const b = scheduled("[]", {a});
  unreadable(a);
  c.fail(w, only_held(), "blob ab cannot be had", failure_kind::input);
  auto const error = c.core.closures().find(b)->error.value();
  EXPECT_NE(error.message.find("running " + text(a) + " again failed: blob ab cannot be had"),
            error.message.npos)
      << error.message;
}

TEST_F(lineage, value_is_recomputed_at_most_three_times) {
  auto const a = on_disk("[1]");
  for (int i = 0; i < 3; ++i) {
    c.park(await_value{{}, a, never});
    unreadable(a);
    c.succeed(w, only_held(), value('z'));
    c.step(values_moved{{{move_kind::write, a, true, {}, {}}}});
  }
  auto const b = scheduled("[]", {a});
  unreadable(a);
  EXPECT_NE(c.core.closures().find(b)->error->message.find("has already been recomputed 3 times"),
            std::string::npos)
      << c.core.closures().find(b)->error->message;
}

TEST_F(lineage, released_input_of_the_lost_value_is_named) {
  auto const a = on_disk("[1]");
  auto const b = scheduled("[]", {a});
  c.step(values_moved{{{move_kind::read, a, true, blob(value('a')), {}}}});
  c.succeed(w, b, value('b'));
  c.step(values_moved{{{move_kind::write, b, true, {}, {}}}});
  c.ask(delete_session{{}, c.core.closures().find(a)->job});
  auto const d = scheduled("[]", {b});
  unreadable(b);
  auto const message = c.core.closures().find(d)->error->message;
  EXPECT_NE(message.find(text(b) + " cannot run again: its own input: there is no " + text(a)),
            std::string::npos)
      << message;
}

TEST_F(lineage, worker_lost_during_recomputation_causes_one_more_attempt) {
  auto const a = on_disk("[1]");
  auto const call = c.park(await_value{{}, a, never});
  unreadable(a);
  c.lose(w);
  w = c.attach({.credits = 8});
  c.succeed(w, only_held(), value('z'));
  EXPECT_TRUE(c.reply_to(call));
}

TEST_F(lineage, released_per_worker_value_is_kept_for_recomputation) {
  auto const v = std::get<per_worker_reply>(
                     c.reply_to_event(create_per_worker{{}, "", c.function("f"), blob("[]")}).body)
                     .id;
  c.succeed(w, only_held(), "null");
  auto spec = c.specs({"f"}).front();
  spec.extras = std::make_shared<closure_extras>(closure_extras{{}, {}, {v}});
  auto const a = c.open_with({spec})[0];
  c.succeed(w, a, value('a'));
  c.step(values_moved{{{move_kind::write, a, true, {}, {}}}});
  auto const call = c.park(await_value{{}, a, never});
  unreadable(a);
  auto const again = only_held();
  EXPECT_EQ(c.status_of(delete_per_worker{{}, v}), status{});
  EXPECT_TRUE(c.core.per_worker().find(v)) << text(again) << " needs it";
  c.succeed(w, again, value('z'));
  EXPECT_TRUE(c.reply_to(call)->status.ok());
  EXPECT_FALSE(c.core.per_worker().find(v));
}

TEST_F(lineage, recomputation_continues_after_its_job_is_deleted) {
  auto const a = on_disk("[1]");
  auto const b = scheduled("[]", {a});
  unreadable(a);
  c.ask(delete_session{{}, c.core.closures().find(a)->job});
  c.succeed(w, only_held(), value('z'));
  EXPECT_EQ(c.held(w), closures{b});
}

TEST_F(lineage, deliberately_released_value_is_not_recomputed) {
  config settings = small();
  settings.value_age = 1h;
  settings.heartbeat_timeout = 10h;
  settings.reconnect_grace = {};
  cluster aged(settings);
  auto const worker = aged.attach();
  auto const s = aged.open({}, resumable_values()).id;
  auto const token = aged.schedule(s, {"f"}).at(0);
  auto const id = aged.core.closure_of(s, token);
  aged.succeed(worker, id, value('a'));
  aged.advance(1h);
  EXPECT_EQ(aged.status_of(await_value{{}, id, never}).code, code::not_found);
  EXPECT_TRUE(aged.held(worker).empty());
}

}  // namespace lineage_cases
}  // namespace muster::core
