// A callable is displayed, counted and searched for, and affects nothing else.
#include "server/core/api/activity.hpp"
#include "server/core/api/facts.hpp"
#include "server/core/api/listings.hpp"
#include "server/core/closures/function_table.hpp"
#include "server/history/closures.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace callables_cases {

std::string hash_of(char c) {
  return std::string(callable_hash_bytes, c);
}

std::vector<closure_spec> calls(cluster& c, std::vector<std::uint32_t> const& callables,
                                std::string const& function = "python:3.11") {
  auto specs = c.specs(names(callables.size(), function));
  for (std::size_t i = 0; i < specs.size(); ++i) {
    specs[i].token = i + 1;
    specs[i].callable = callables[i];
  }
  return specs;
}

session_id held_session(cluster& c) {
  return c.open({}, resumable_values(continue_all())).id;
}

void schedule(cluster& c, session_id s, std::vector<std::uint32_t> const& callables,
              std::vector<callable_name> dictionary) {
  core::schedule e;
  e.session = s;
  e.closures = calls(c, callables);
  e.callables = std::move(dictionary);
  c.step(std::move(e));
}

std::size_t found(cluster& c, session_id s, closure_query q) {
  q.session = s;
  return history::search_closures(c.past, c.core, q, {}, {}).value().found.size();
}

shown_function_view counted(cluster& c, std::string const& name) {
  for (auto const& f : c.core.functions().shown())
    if (f.name == name) return f;
  return {};
}

TEST(callables, are_shown_by_name_but_workers_receive_their_function) {
  cluster c;
  auto const s = held_session(c);
  schedule(c, s, {1, 0}, {{"train.step", hash_of('h')}});
  auto const w = c.attach({.functions = {"python:3.11"}, .slots = 2, .credits = 2});
  auto const held = c.held(w);
  ASSERT_EQ(held.size(), 2u);
  for (auto const& a : c.fx().assignments)
    EXPECT_EQ(c.core.functions().name(a.function), "python:3.11");
  auto const v = c.core.closures().find(held[0]).value();
  EXPECT_EQ(v.function, "python:3.11");
  EXPECT_EQ(v.display_name, "train.step");
  EXPECT_EQ(v.callable, hash_of('h'));
  auto const plain = c.core.closures().find(held[1]).value();
  EXPECT_EQ(plain.function, "python:3.11");
  EXPECT_EQ(plain.display_name, "");
  EXPECT_EQ(plain.callable, "");
  auto const running = history::running(c.past, c.core, {}, {});
  EXPECT_EQ(running.names.functions.size(), 2u);
  closure_groups groups;
  ASSERT_TRUE(c.core.closures().group(s, groups).ok());
  EXPECT_EQ(groups.groups.at(0).first, "train.step");
}

TEST(callables, are_found_by_their_name_and_by_their_functions) {
  cluster c;
  auto const s = held_session(c);
  schedule(c, s, {1, 2, 0}, {{"train.step", {}}, {"data.load", {}}});
  EXPECT_EQ(found(c, s, {.function = "python:3.11"}), 3u);
  EXPECT_EQ(found(c, s, {.function = "train.step"}), 1u);
  EXPECT_EQ(found(c, s, {.function = "nobody"}), 0u);
  EXPECT_EQ(found(c, s, {.text = "load"}), 1u);
  EXPECT_EQ(found(c, s, {.text = "python"}), 3u);
}

TEST(callables, are_counted_by_name_and_with_their_function) {
  cluster c;
  auto const s = held_session(c);
  schedule(c, s, {1, 2, 0}, {{"train.step", hash_of('a')}, {"train.step", hash_of('b')}});
  auto const w = c.attach({.functions = {"python:3.11"}});
  c.succeed(w, c.held(w).at(0));
  c.fail(w, c.held(w).at(0));
  EXPECT_EQ(counted(c, "train.step").succeeded, 1u);
  EXPECT_EQ(counted(c, "train.step").failed, 1u);
  EXPECT_EQ(counted(c, "python:3.11").running, 1u);
  ASSERT_EQ(c.core.functions().all().size(), 1u);
  auto const f = c.core.functions().all()[0];
  EXPECT_EQ(f.name, "python:3.11");
  EXPECT_EQ(f.workers, 1u);
  EXPECT_EQ(f.succeeded + f.failed + f.running, 3u);
}

TEST(callables, explanation_names_the_missing_function) {
  cluster c;
  auto const s = held_session(c);
  c.attach({.functions = {"other"}});
  schedule(c, s, {1}, {{"train.step", {}}});
  auto const id = c.core.closure_of(s, 1);
  EXPECT_EQ(history::explain(c.past, c.core, id, c.now(), s)->lack.value().function, "python:3.11");
}

TEST(callables, callables_of_a_missing_version_fail_like_their_function) {
  cluster c;
  auto const s = held_session(c);
  c.attach({.functions = {"python:3.12"}});
  schedule(c, s, {1}, {{"train.step", {}}});
  auto const id = c.core.closure_of(s, 1);
  c.advance(10s);
  auto const v = c.core.closures().find(id).value();
  EXPECT_EQ(v.state, closure_state::failed);
  EXPECT_EQ(v.error->kind, failure_kind::stale_handle);
  EXPECT_EQ(v.error->message.rfind(
                "the call requires python:3.11, but the connected workers have python:3.12; ", 0),
            0u);
}

TEST(callables, run_again_under_their_name) {
  cluster c;
  auto const w = c.attach({.functions = {"python:3.11"}});
  auto const s = held_session(c);
  schedule(c, s, {1}, {{"train.step", {}}});
  c.lose(w);
  auto const again = c.attach({.functions = {"python:3.11"}});
  ASSERT_EQ(c.held(again).size(), 1u);
  EXPECT_EQ(c.core.closures().find(c.held(again)[0])->display_name, "train.step");
  EXPECT_EQ(c.core.functions().name(c.fx().assignments.at(0).function), "python:3.11");
}

TEST(callables, callables_beyond_the_hash_limit_share_the_name) {
  config small;
  small.callable_versions_max = 1;
  cluster c(small);
  auto const s = held_session(c);
  schedule(c, s, {1, 2}, {{"f", hash_of('a')}, {"f", hash_of('b')}});
  EXPECT_EQ(c.core.closures().find(c.core.closure_of(s, 1))->callable, hash_of('a'));
  auto const second = c.core.closures().find(c.core.closure_of(s, 2)).value();
  EXPECT_EQ(second.display_name, "f");
  EXPECT_EQ(second.callable, "");
}

// Rows keep names that the core no longer uses.
TEST(callables, callables_evicted_from_the_table_are_found_in_rows) {
  config small;
  small.callables_max = 2;
  cluster c(small);
  auto const s = c.stream();
  auto const w = c.attach({.functions = {"python:3.11"}, .slots = 4, .credits = 4});
  schedule(c, s, {1}, {{"train.step", {}}});
  c.succeed(w, c.held(w).at(0));
  schedule(c, s, {1, 2}, {{"a", {}}, {"b", {}}});
  ASSERT_EQ(counted(c, "train.step").succeeded, 0u) << "its number belongs to another function";
  closure_cursor at;
  std::size_t rows = 0;
  closure_query q;
  q.session = s;
  q.function = "train.step";
  for (; at.part != closure_cursor::end;) {
    auto const look = history::search_closures(c.past, c.core, q, at, {}).value();
    rows += look.found.size();
    at = look.next;
  }
  EXPECT_EQ(rows, 1u);
}

TEST(callables, show_their_function_while_the_table_is_full) {
  config small;
  small.callables_max = 2;
  cluster c(small);
  auto const s = held_session(c);
  schedule(c, s, {1, 2, 3}, {{"a", {}}, {"b", {}}, {"c", {}}});
  EXPECT_EQ(c.core.closures().find(c.core.closure_of(s, 2))->display_name, "b");
  auto const third = c.core.closures().find(c.core.closure_of(s, 3)).value();
  EXPECT_EQ(third.display_name, "");
  EXPECT_EQ(third.function, "python:3.11");
}

TEST(callables, unused_callables_are_evicted_and_their_counts_are_added_to_the_function) {
  config small;
  small.callables_max = 4;
  changes told;
  function_table t(small, told);
  auto const f = t.intern("python:3.11").value();
  auto const a = t.intern(f, {"a", hash_of('1')}).value();  // also adds "a" without a hash
  auto const b = t.intern(f, {"b", hash_of('1')}).value();
  EXPECT_FALSE(t.intern(f, {"c", {}}));
  EXPECT_EQ(t[t.intern(f, {"b", hash_of('2')}).value()].hash, "") << "no room for another hash";
  t[a].succeeded = 3, t[a].failed = 2, t[a].cancelled = 1;
  std::vector<bool> used(t.numbers());
  used[raw(b)] = true;
  t.forget_unused(used);
  EXPECT_EQ(t.callables(), 2u);
  EXPECT_EQ(t[f].succeeded, 3u);
  EXPECT_EQ(t[f].failed, 2u);
  EXPECT_EQ(t[f].cancelled, 1u);
  EXPECT_EQ(t[b].name, "b");
  EXPECT_EQ(t.intern(f, {"b", hash_of('1')}), b);
  auto const numbers = t.numbers();
  auto const c = t.intern(f, {"c", hash_of('1')}).value();
  EXPECT_EQ(t.numbers(), numbers) << "numbers are used again";
  EXPECT_EQ(t[c].name, "c");
  EXPECT_EQ(t[c].succeeded, 0u);
  EXPECT_EQ(t.served(c), f);
  EXPECT_EQ(t.find("c"), std::nullopt) << "no worker provides it";
}

TEST(callables, eviction_scans_at_most_once_in_ten_seconds) {
  config small;
  small.callables_max = 1;
  // Rows of ended closures would use the name.
  small.session_rows_max = small.session_failures_max = 0;
  cluster c(small);
  auto const s = held_session(c);
  auto shown = [&, token = std::uint64_t{0}](std::string const& name) mutable {
    core::schedule e;
    e.session = s;
    e.closures = calls(c, {1});
    e.closures[0].token = ++token;
    e.callables = {{name, {}}};
    c.step(std::move(e));
    return c.core.closures().find(c.core.closure_of(s, token))->display_name;
  };
  EXPECT_EQ(shown("a"), "a");
  EXPECT_EQ(shown("b"), "");  // "a" is in use
  c.step(cancel_closure{{}, c.core.closure_of(s, 1)});
  c.step(release_values{{}, s, {1}, {}});
  EXPECT_EQ(shown("b"), "");
  c.advance(10s);
  EXPECT_EQ(shown("b"), "b");
}

TEST(callables, are_stored_and_restored_after_a_restart) {
  config durable;
  durable.durable = true;
  cluster before(durable);
  restored_job written;
  auto const note = [&] {
    for (auto const& f : before.fx().facts) {
      if (auto const* job = std::get_if<job_fact>(&f)) written.job = *job;
      if (auto const* request = std::get_if<accepted_fact>(&f))
        written.accepted.push_back(*request);
    }
  };
  auto const s = held_session(before);
  note();
  schedule(before, s, {0, 1}, {{"train.step", hash_of('h')}});
  note();
  ASSERT_EQ(written.accepted.size(), 1u);
  EXPECT_EQ(written.accepted[0].functions, (names{"python:3.11", "python:3.11"}));
  EXPECT_EQ(written.accepted[0].callables,
            (std::vector<callable_name>{{}, {"train.step", hash_of('h')}}));
  auto old = written;
  old.accepted[0].callables.clear();  // as older servers wrote it
  for (auto const& [job, shown] : {std::pair(written, "train.step"), std::pair(old, "")}) {
    cluster after(durable);
    restore_jobs e{{job}};
    after.restore(std::move(e));
    auto const v = after.core.closures().find(after.core.closure_of(s, 2)).value();
    EXPECT_EQ(v.function, "python:3.11");
    EXPECT_EQ(v.display_name, shown);
    auto const w = after.attach({.functions = {"python:3.11"}, .slots = 2, .credits = 2});
    EXPECT_EQ(after.held(w).size(), 2u);
  }
}

TEST(callables, unknown_numbers_are_ignored) {
  cluster c;
  auto const s = held_session(c);
  schedule(c, s, {2, 3}, {{"a", {}}, {"", {}}});
  for (std::uint64_t const token : {1, 2}) {
    auto const v = c.core.closures().find(c.core.closure_of(s, token)).value();
    EXPECT_EQ(v.function, "python:3.11");
    EXPECT_EQ(v.display_name, "");
  }
}

}  // namespace callables_cases
}  // namespace muster::core
