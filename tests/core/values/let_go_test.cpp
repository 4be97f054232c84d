#include <map>

#include "server/core/values/lineage_book.hpp"
#include "server/core/values/value_store.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace let_go_cases {

std::string large(char c) {
  return R"({"$blob":")" + std::string(64, c) + R"(","bytes":5000000})";
}

struct released_inputs : testing::Test {
  closure_id made(std::string_view args, closures const& inputs = {}) {
    auto spec = c.specs({"f"}).front();
    spec.args = blob(args);
    if (!inputs.empty()) {
      auto x = std::make_shared<closure_extras>();
      for (auto const i : inputs) x->inputs.push_back({i, 0, 1});
      spec.extras = std::move(x);
    }
    auto const token = spec.token;
    core::schedule e{{}, s, {}};
    e.closures.push_back(std::move(spec));
    c.step(std::move(e));
    return tokens[c.core.closure_of(s, token)] = token, c.core.closure_of(s, token);
  }
  closure_id ended(std::string_view args, closures const& inputs, std::string_view value) {
    auto const id = made(args, inputs);
    c.succeed(w, id, value);
    return id;
  }
  void release(closures const& all) {
    release_values e{{}, s, {}, {}};
    for (auto const id : all) e.tokens.push_back(tokens.at(id));
    EXPECT_EQ(c.status_of(e), status{});
  }
  void lost(closure_id id) {
    c.step(values_moved{{{move_kind::lost, id, false, {}, "its worker is gone"}}});
  }
  void copied(closure_id id) { c.step(values_moved{{{move_kind::copy, id, true, {}, {}}}}); }
  closures to_copy() const {
    closures found;
    for (auto const& m : c.fx().value_moves)
      if (m.kind == move_kind::copy) found.push_back(m.closure);
    return found;
  }
  bool is_known(closure_id id) const { return c.core.closures().find(id).has_value(); }
  /// Returns true if the closure is kept without its value.
  bool is_kept(closure_id id) const {
    auto const seen = c.core.closures().find(id);
    return seen && !seen->released.empty();
  }
  closure_id only_held() const {
    auto const all = c.held(w);
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? closure_id{} : all[0];
  }
  std::string told(call_id call) const {
    auto const r = c.reply_to(call);
    return r && r->status.ok() ? std::string(std::get<value_reply>(r->body).data.view()) : "";
  }

  cluster c;
  std::map<closure_id, std::uint64_t> tokens;
  stream_id w = c.attach({.credits = 8});
  session_id s = c.open({}, resumable_values()).id;
};

TEST_F(released_inputs, lost_value_is_recomputed_from_released_inputs) {
  auto const a = ended("[1]", {}, large('a'));
  auto const b = ended("[2]", {a}, large('b'));
  release({a});
  auto const d = ended("[3]", {b}, large('d'));
  release({b});
  EXPECT_TRUE(is_kept(a) && is_kept(b)) << "without values, which are in the memory of workers";
  lost(d);
  auto const call = c.park(await_value{{}, d, never});
  EXPECT_EQ(c.fx().assignments.at(0).args.view(), "[1]");
  c.succeed(w, only_held(), large('x'));
  EXPECT_EQ(c.fx().assignments.at(0).args.view(), "[2]");
  EXPECT_EQ(c.fx().assignments.at(0).inputs->at(0).view(), large('x'));
  EXPECT_FALSE(is_kept(a)) << "its value is kept for as long as it is needed";
  c.succeed(w, only_held(), large('y'));
  EXPECT_EQ(c.fx().assignments.at(0).inputs->at(0).view(), large('y'));
  EXPECT_TRUE(is_kept(a) && !is_kept(b));
  c.succeed(w, only_held(), large('z'));
  EXPECT_EQ(told(call), large('z'));
  EXPECT_TRUE(is_kept(a) && is_kept(b)) << "it can be lost again";
  lost(d);
  c.park(await_value{{}, d, never});
  EXPECT_EQ(c.fx().assignments.at(0).args.view(), "[1]");
  release({d});
  EXPECT_FALSE(is_known(d) || is_known(b));
}

TEST_F(released_inputs, inputs_are_removed_with_the_value) {
  auto const a = ended("[1]", {}, large('a'));
  auto const b = ended("[2]", {a, a}, large('b'));
  auto const other = ended("[3]", {a}, large('c'));
  release({a});
  release({b});
  EXPECT_TRUE(is_kept(a));
  release({other});
  EXPECT_FALSE(is_known(a));
}

TEST_F(released_inputs, small_inputs_are_kept_with_the_closure) {
  auto const small = ended("[1]", {}, "17");
  auto const b = ended("[2]", {small}, large('b'));
  release({small});
  EXPECT_FALSE(is_known(small));
  lost(b);
  auto const call = c.park(await_value{{}, b, never});
  EXPECT_EQ(c.fx().assignments.at(0).inputs->at(0).view(), "17");
  c.succeed(w, only_held(), large('x'));
  EXPECT_EQ(told(call), large('x'));
}

TEST_F(released_inputs, value_on_the_server_is_not_recomputed_and_keeps_no_inputs) {
  auto const a = ended("[1]", {}, large('a'));
  auto const b = ended("[2]", {a}, large('b'));
  release({a});
  EXPECT_TRUE(is_kept(a));
  copied(b);
  EXPECT_FALSE(is_known(a));
  auto const d = ended("[3]", {b}, large('d'));
  release({b});
  EXPECT_TRUE(is_known(b) && !is_kept(b)) << "the server has its value, so its inputs were removed";
  lost(d);
  c.park(await_value{{}, d, never});
  EXPECT_EQ(c.fx().assignments.at(0).inputs->at(0).view(), large('b'));
  c.succeed(w, only_held(), large('x'));
  copied(d);
  EXPECT_FALSE(is_known(b));
}

TEST_F(released_inputs, a_value_stays_for_a_closure_that_has_not_ended) {
  auto const a = ended("[1]", {}, large('a'));
  auto const b = made("[2]", {a});
  release({a});
  EXPECT_TRUE(is_known(a) && !is_kept(a));
  c.fail(w, b);
  EXPECT_FALSE(is_known(a));
  auto const again = ended("[1]", {}, large('a'));
  auto const small = made("[2]", {again});
  release({again});
  c.succeed(w, small, "1");
  EXPECT_FALSE(is_known(again)) << "a small value is at the server";
}

TEST_F(released_inputs, released_input_is_not_recomputed_for_new_requests) {
  auto const a = ended("[1]", {}, large('a'));
  auto const b = ended("[2]", {a}, large('b'));
  release({a});
  EXPECT_EQ(c.status_of(await_value{{}, a, never}).code, code::not_found);
  auto const late = made("[3]", {a});
  EXPECT_EQ(c.core.closures().find(late)->error->kind, failure_kind::input);
  EXPECT_TRUE(c.held(w).empty());
  EXPECT_TRUE(is_known(b));
}

TEST_F(released_inputs, are_removed_with_their_session) {
  auto const a = ended("[1]", {}, large('a'));
  ended("[2]", {a}, large('b'));
  release({a});
  c.step(close_session{s});
  EXPECT_FALSE(is_known(a));
  EXPECT_EQ(c.core.violated_invariant(), "");
}

TEST_F(released_inputs, resume_without_their_tokens_releases_the_values) {
  auto const a = ended("[1]", {}, large('a'));
  auto const b = ended("[2]", {a}, large('b'));
  c.step(suspend_session{s});
  c.ask(resume_session{{}, s, {tokens.at(b)}});
  EXPECT_TRUE(is_kept(a));
  lost(b);
  c.park(await_value{{}, b, never});
  EXPECT_EQ(c.fx().assignments.at(0).args.view(), "[1]");
}

TEST_F(released_inputs, failed_recomputation_is_reported_and_keeps_only_the_record) {
  auto const a = ended("[1]", {}, large('a'));
  auto const b = ended("[2]", {a}, large('b'));
  release({a});
  lost(b);
  auto const call = c.park(await_value{{}, b, never});
  c.fail(w, only_held(), "not today");
  auto const r = c.reply_to(call);
  ASSERT_TRUE(r);
  EXPECT_NE(r->status.message.find("not today"), std::string::npos) << r->status.message;
  EXPECT_TRUE(is_kept(a));
}

TEST_F(released_inputs, values_in_a_long_chain_are_copied_to_the_server_periodically) {
  auto last = ended("[]", {}, large('a'));
  for (std::uint32_t i = 1; i <= lineage_book::copied_every * 2; ++i) {
    auto const next = ended("[]", {last}, large('a'));
    bool const due = i % lineage_book::copied_every == 0;
    EXPECT_EQ(to_copy(), due ? closures{next} : closures{}) << i;
    release({last});
    if (due) copied(next);
    last = next;
  }
}

// The server got no copies.
TEST_F(released_inputs, too_many_levels_of_lost_inputs_are_refused) {
  auto last = ended("[]", {}, large('a'));
  for (std::uint32_t i = 1; i <= value_store::depth_max; ++i) {
    auto const next = ended("[]", {last}, large('a'));
    release({last});
    last = next;
  }
  lost(last);
  auto const r = c.ask(await_value{{}, last, never});
  ASSERT_TRUE(r);
  EXPECT_NE(r->status.message.find("more than 128 levels of its inputs were also lost"),
            std::string::npos)
      << r->status.message;
}

TEST_F(released_inputs, value_is_copied_if_arguments_do_not_fit) {
  std::string const args = "[" + std::string(30 << 20, ' ') + "1]";
  auto const a = ended(args, {}, large('a'));
  ended(args, {}, large('b'));
  EXPECT_EQ(to_copy(), closures{});
  ended(args, {}, large('d'));
  EXPECT_EQ(to_copy(), closures{a});
}

// Calls the core directly, because `cluster::step` checks all closures.
TEST_F(released_inputs, oldest_kept_record_is_evicted_at_the_limit) {
  closures all;
  auto const like = c.specs({"f"}).front();
  for (std::size_t i = 0; i <= lineage_book::alone_max + 1; ++i) {
    auto spec = like;
    auto const token = spec.token += i;
    if (i > 0) {
      auto x = std::make_shared<closure_extras>();
      x->inputs.push_back({all.back(), 0, 1});
      spec.extras = std::move(x);
    }
    core::schedule e{{}, s, {}};
    e.closures.push_back(std::move(spec));
    c.core.step(c.now(), e);
    auto const id = c.core.closure_of(s, token);
    worker_result r;
    r.closure = id;
    r.attempt = 1;
    r.ok = true;
    r.value = blob(large('a'));
    worker_results answers{w, {r}, {}, {}, {}};
    c.core.step(c.now(), answers);
    if (i > 0) c.core.step(c.now(), release_values{{}, s, {}, {all.back()}});
    all.push_back(id);
    if (i == lineage_book::alone_max) {
      EXPECT_TRUE(is_kept(all[0]));
    }
  }
  EXPECT_FALSE(is_known(all[0]));
  EXPECT_TRUE(is_kept(all[1]));
  EXPECT_EQ(c.core.violated_invariant(), "");
}

}  // namespace let_go_cases
}  // namespace muster::core
