#include "server/core/api/listings.hpp"
#include "server/history/closures.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

search_step look_at(cluster& c, session_id s, closure_query q = {}) {
  q.session = s;
  search_step all;
  closure_cursor at;
  while (at.part != closure_cursor::end) {
    auto const step = history::search_closures(c.past, c.core, q, at, {}).value();
    all.found.insert(all.found.end(), step.found.begin(), step.found.end());
    all.of = step.of;
    at = step.next;
  }
  return all;
}
std::vector<closure_id> ids(search_step const& l) {
  std::vector<closure_id> out;
  for (auto const& f : l.found) out.push_back(f.id);
  return out;
}

TEST(session_rows, a_streams_closure_leaves_a_row) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream();
  c.schedule(s, {"f", "f"});
  auto const first = c.held(w).at(0);
  EXPECT_EQ(look_at(c, s).of, 2u);
  c.wait(1s);
  c.succeed(w, first);
  auto const all = look_at(c, s);
  EXPECT_EQ(all.of, 2u);
  EXPECT_EQ(all.found.size(), 2u);
  EXPECT_FALSE(history::closure(c.past, c.core, first));
  auto const v = history::closure(c.past, c.core, first, s).value();
  EXPECT_TRUE(v.history);
  EXPECT_EQ(v.job, s);
  EXPECT_EQ(v.index, 0u);
  EXPECT_EQ(v.function, "f");
  EXPECT_EQ(v.state, closure_state::succeeded);
  EXPECT_FALSE(v.args);
  EXPECT_FALSE(v.data);
  EXPECT_EQ(v.finished, start + 1s);
  ASSERT_EQ(v.attempts.size(), 1u);
  EXPECT_EQ(v.attempts[0].worker, "worker:0");
  auto const why = history::explain(c.past, c.core, first, c.now(), s).value();
  EXPECT_EQ(why.why, closure_reason::succeeded);
  EXPECT_EQ(why.worker, "worker:0");
  EXPECT_EQ(why.lasted, 1s);
  EXPECT_EQ(why.attempt, 1u);
  EXPECT_TRUE(why.is_row);
}

TEST(session_rows, failed_closure_keeps_its_message) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream(continue_all());
  c.schedule(s, {"f"});
  auto const id = c.held(w).at(0);
  c.fail(w, id, "no such file");
  auto const v = history::closure(c.past, c.core, id, s).value();
  EXPECT_EQ(v.error->message, "no such file");
  auto const why = history::explain(c.past, c.core, id, c.now(), s).value();
  EXPECT_EQ(why.why, closure_reason::failed);
  EXPECT_EQ(why.worker, "worker:0");
  EXPECT_EQ(why.error.value().message, "no such file");
  EXPECT_TRUE(why.is_row);
  closure_query failed;
  failed.states = ended_badly_states;
  EXPECT_EQ(ids(look_at(c, s, failed)), closures{id});
  failed.text = "such FILE";
  EXPECT_TRUE(look_at(c, s, failed).found.empty()) << "texts come in lower case";
  failed.text = "o such";
  EXPECT_EQ(ids(look_at(c, s, failed)), closures{id});
}

TEST(session_rows, held_closure_is_listed_once) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.open({}, resumable_values()).id;
  auto const tokens = c.schedule(s, {"f"});
  auto const id = c.held(w).at(0);
  c.succeed(w, id);
  EXPECT_EQ(ids(look_at(c, s)), closures{id});
  EXPECT_FALSE(history::closure(c.past, c.core, id)->history);
  c.step(release_values{{}, s, tokens, {}});
  EXPECT_EQ(ids(look_at(c, s)), closures{id});
  EXPECT_TRUE(history::closure(c.past, c.core, id, s)->history);
}

TEST(session_rows, are_removed_with_their_session) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream();
  c.schedule(s, {"f"});
  auto const id = c.held(w).at(0);
  c.succeed(w, id);
  c.step(close_session{s});
  EXPECT_TRUE(history::closure(c.past, c.core, id, s)) << "it remains visible";
  c.ask(delete_session{{}, s});
  EXPECT_FALSE(history::closure(c.past, c.core, id, s));
  EXPECT_FALSE(history::search_closures(c.past, c.core, {.session = s}, {}, {}));
}

TEST(session_rows, cancelled_closure_that_never_ran_shows_no_attempt) {
  cluster c;
  auto const s = c.stream();
  c.schedule(s, {"f"});
  auto const id = look_at(c, s).found.at(0).id;
  c.ask(cancel_closure{{}, id});
  auto const v = history::closure(c.past, c.core, id, s).value();
  EXPECT_EQ(v.state, closure_state::cancelled);
  EXPECT_TRUE(v.attempts.empty());
  EXPECT_EQ(history::explain(c.past, c.core, id, c.now(), s)->why, closure_reason::cancelled);
}

}  // namespace
}  // namespace muster::core
