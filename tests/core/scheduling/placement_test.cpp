// Placement by itself: what only shows after billions of closures, or with wide windows.
#include "server/core/scheduling/placement.hpp"

#include <memory>

#include "server/core/closures/function_table.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace placement_cases {

constexpr session_number one{1}, other{2};

struct bench {
  config limits;
  server_wide wide{time_point{}};
  closure_table closures{wide};
  changes told;
  function_table functions{limits, told};
  core::placement placement{closures};
  session_queue first, second;

  function_id f(std::string_view name) { return *functions.intern(name); }

  /// Queues a closure that is the `order`th of its session.
  slot queue(session_queue& s, std::string_view function, std::uint32_t order) {
    auto const c = closures.allocate(&s == &first ? one : other);
    closures[c].order = order;
    closures[c].queue = s.queue_for(f(function));
    placement.push_back(s, c);
    return c;
  }
  void join(worker_slots& w, std::vector<function_id> functions_of_it) {
    placement.add(w, std::move(functions_of_it),
                  std::vector<std::reference_wrapper<session_queue>>{first, second});
  }
};

std::uint32_t number(closure_table const& t, slot c) {
  return t[c].order;
}

TEST(placement, keeps_schedule_order_when_the_count_of_a_session_wraps) {
  bench b;
  worker_slots w;
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
  worker_slots w;
  w.slots = 0;  // only prefetched
  w.window = w.credits = 1'000;
  for (std::uint32_t i = 0; i < 100; ++i) {
    b.queue(b.first, "f", i);
    b.queue(b.second, "f", i);
  }
  b.join(w, {b.f("f")});
  std::vector<std::pair<session_number, std::size_t>> turns;
  std::vector<slot> run;
  while (b.placement.next(run)) turns.emplace_back(b.closures[run.front()].owner, run.size());
  EXPECT_EQ(turns, (std::vector<std::pair<session_number, std::size_t>>{
                       {one, 64}, {other, 64}, {one, 36}, {other, 36}}));
}

TEST(placement, an_idle_worker_gets_one_a_turn_and_not_more_than_the_window_ahead) {
  bench b;
  worker_slots idle, ahead;
  idle.slots = idle.window = 5;
  ahead.slots = 0;
  ahead.window = 3;
  for (std::uint32_t i = 0; i < 10; ++i) b.queue(b.first, "f", i);
  b.join(idle, {b.f("f")});
  b.join(ahead, {b.f("f")});
  std::vector<slot> run;
  EXPECT_EQ(b.placement.next(run), &idle);
  EXPECT_EQ(run.size(), 1u);
  idle.open = false;
  b.placement.update(idle);
  EXPECT_EQ(b.placement.next(run), &ahead);
  EXPECT_EQ(run.size(), 3u);
}

TEST(placement, a_session_that_is_forgotten_leaves_every_ring) {
  bench b;
  worker_slots f, g;
  f.slots = g.slots = 1;
  f.open = g.open = false;
  b.join(f, {b.f("f")});
  b.join(g, {b.f("g")});
  b.queue(b.first, "f", 0);
  b.queue(b.first, "g", 1);
  auto const last = b.queue(b.second, "g", 0);
  b.placement.forget(b.first);
  for (auto const& turn : b.first.turns) EXPECT_FALSE(turn.linked);
  f.open = g.open = true;
  b.placement.update(f);
  b.placement.update(g);
  std::vector<slot> run;
  EXPECT_EQ(b.placement.next(run), &g);
  EXPECT_EQ(run, std::vector{last});
  g.open = false;
  b.placement.update(g);
  EXPECT_EQ(b.placement.next(run), nullptr);
  EXPECT_EQ(b.placement.violated_invariant(), "");
}

TEST(placement, the_last_worker_of_a_class_takes_the_class_with_it) {
  bench b;
  auto const names_of = [&](std::string_view name) { return b.placement.classes_with(b.f(name)); };
  worker_slots left, right;
  b.join(left, {b.f("f"), b.f("g")});
  b.join(right, {b.f("g"), b.f("f"), b.f("f")});
  EXPECT_EQ(left.placed, right.placed);
  EXPECT_EQ(names_of("f"), 1u);
  b.queue(b.first, "f", 0);
  for (auto* w : {&left, &right}) {
    w->open = false;
    b.placement.update(*w);
    b.placement.remove(*w);
    EXPECT_EQ(w->placed, nullptr);
    EXPECT_EQ(names_of("f"), w == &left ? 1u : 0u);
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
    worker_slots w;
    w.open = false;
    b.join(w, {b.f("f"), b.f("g" + std::to_string(i))});
    b.placement.remove(w);
  }
  EXPECT_EQ(b.first.turns.size(), 1u);
}

}  // namespace placement_cases
}  // namespace muster::core
