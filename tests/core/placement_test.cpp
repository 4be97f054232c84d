// Placement by itself: what only shows after billions of closures, or with wide windows.
#include "server/core/placement.hpp"

#include <memory>

#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

struct bench {
  config limits;
  closure_table closures;
  function_table functions{limits};
  core::placement placement{closures, functions};
  session first, second;

  function_id f(std::string_view name) { return *functions.intern(name); }

  /// Queues a closure that is the `order`th of its session.
  slot queue(session& s, std::string_view function, std::uint32_t order) {
    auto const c = closures.allocate(s);
    closures[c].order = order;
    closures[c].lane = s.lane_for(f(function));
    placement.push_back(s, c);
    return c;
  }
  void join(worker& w, std::vector<function_id> functions_of_it) {
    placement.add(w, std::move(functions_of_it),
                  std::vector<std::reference_wrapper<session>>{first, second});
  }
};

std::uint32_t number(closure_table const& t, slot c) {
  return t[c].order;
}

TEST(placement, keeps_schedule_order_when_the_count_of_a_session_wraps) {
  bench b;
  worker w;
  w.slots = w.window = w.credits = 10;
  b.queue(b.first, "f", ~1u);
  b.queue(b.first, "g", ~0u);
  b.queue(b.first, "f", 0);
  b.queue(b.first, "g", 1);
  b.join(w, {b.f("f"), b.f("g")});
  std::vector<std::uint32_t> orders;
  std::vector<slot> run;
  while (b.placement.next(run))
    for (auto const c : run) orders.push_back(number(b.closures, c));
  EXPECT_EQ(orders, (std::vector<std::uint32_t>{~1u, ~0u, 0, 1}));
}

TEST(placement, a_turn_ahead_takes_at_most_64_then_the_next_session_has_its_own) {
  bench b;
  worker w;
  w.slots = 0;  // only ahead
  w.window = w.credits = 1'000;
  for (std::uint32_t i = 0; i < 100; ++i) {
    b.queue(b.first, "f", i);
    b.queue(b.second, "f", i);
  }
  b.join(w, {b.f("f")});
  std::vector<std::pair<session*, std::size_t>> turns;
  std::vector<slot> run;
  while (b.placement.next(run)) turns.emplace_back(b.closures[run.front()].owner, run.size());
  EXPECT_EQ(turns, (std::vector<std::pair<session*, std::size_t>>{
                       {&b.first, 64}, {&b.second, 64}, {&b.first, 36}, {&b.second, 36}}));
}

TEST(placement, an_idle_worker_gets_one_a_turn_and_not_more_than_the_window_ahead) {
  bench b;
  worker idle, ahead;
  idle.slots = idle.window = 5;
  ahead.slots = 0;
  ahead.window = 3;
  for (std::uint32_t i = 0; i < 10; ++i) b.queue(b.first, "f", i);
  b.join(idle, {b.f("f")});
  b.join(ahead, {b.f("f")});
  std::vector<slot> run;
  EXPECT_EQ(b.placement.next(run), &idle);
  EXPECT_EQ(run.size(), 1u);
  idle.draining = true;
  b.placement.update(idle);
  EXPECT_EQ(b.placement.next(run), &ahead);
  EXPECT_EQ(run.size(), 3u);
}

TEST(placement, a_session_that_is_forgotten_leaves_every_ring) {
  bench b;
  worker f, g;
  f.slots = g.slots = 1;
  f.draining = g.draining = true;
  b.join(f, {b.f("f")});
  b.join(g, {b.f("g")});
  b.queue(b.first, "f", 0);
  b.queue(b.first, "g", 1);
  auto const other = b.queue(b.second, "g", 0);
  b.placement.forget(b.first);
  for (auto const& turn : b.first.turns) EXPECT_FALSE(turn.linked);
  f.draining = g.draining = false;
  b.placement.update(f);
  b.placement.update(g);
  std::vector<slot> run;
  EXPECT_EQ(b.placement.next(run), &g);
  EXPECT_EQ(run, std::vector{other});
  g.draining = true;
  b.placement.update(g);
  EXPECT_EQ(b.placement.next(run), nullptr);
  EXPECT_EQ(b.placement.violated_invariant(), "");
}

TEST(placement, the_last_worker_of_a_class_takes_the_class_with_it) {
  bench b;
  auto const names_of = [&](std::string_view name) {
    return b.functions[b.f(name)].classes.size();
  };
  worker one, two;
  b.join(one, {b.f("f"), b.f("g")});
  b.join(two, {b.f("g"), b.f("f"), b.f("f")});
  EXPECT_EQ(one.placed, two.placed);
  EXPECT_EQ(names_of("f"), 1u);
  b.queue(b.first, "f", 0);
  for (auto* w : {&one, &two}) {
    w->draining = true;
    b.placement.update(*w);
    b.placement.remove(*w);
    EXPECT_EQ(w->placed, nullptr);
    EXPECT_EQ(names_of("f"), w == &one ? 1u : 0u);
  }
  EXPECT_EQ(names_of("g"), 0u);
  std::vector<slot> run;
  EXPECT_EQ(b.placement.next(run), nullptr);
  for (auto const& turn : b.first.turns) EXPECT_FALSE(turn.linked);
}

TEST(placement, numbers_of_classes_are_used_again_so_that_sessions_do_not_grow) {
  bench b;
  b.queue(b.first, "f", 0);
  for (int i = 0; i < 100; ++i) {
    worker w;
    w.draining = true;
    b.join(w, {b.f("f"), b.f("g" + std::to_string(i))});
    b.placement.remove(w);
  }
  EXPECT_EQ(b.first.turns.size(), 1u);
}

}  // namespace
}  // namespace muster::core
