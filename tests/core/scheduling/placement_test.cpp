// Turns that need billions of closures or wide windows.
#include <memory>

#include "server/core/closures/function_table.hpp"
#include "server/core/scheduling/scheduler.hpp"
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
  core::scheduler scheduler{closures};
  std::uint32_t workers = 0;

  bench() {
    scheduler.open(one, session_id{1}, 1);
    scheduler.open(other, session_id{2}, 1);
  }
  function_id f(std::string_view name) { return *functions.intern(name); }

  slot queue(session_number s, std::string_view function, std::uint32_t order) {
    closure_spec spec;
    spec.function = f(function);
    auto const c = closures.allocate(s);
    closures[c].order = order;
    closures[c].queue = scheduler.queue_for(s, spec);
    scheduler.push_back(c);
    return c;
  }
  worker_slots& join(worker_slots w, std::vector<function_id> functions_of_it) {
    w.stream = stream_id{++workers};
    w.number = worker_number{workers};
    auto& joined = scheduler.add(std::move(w));
    scheduler.place(joined, std::move(functions_of_it));
    return joined;
  }
  void open(worker_slots& w, bool is_open) {
    w.open = is_open;
    scheduler.update(w);
  }
  worker_slots* next(std::vector<slot>& run) { return scheduler.next(run); }
};

std::uint32_t number(closure_table const& t, slot c) {
  return t[c].order;
}

TEST(placement, keeps_schedule_order_when_the_count_of_a_session_wraps) {
  bench b;
  worker_slots w;
  w.slots = w.window = w.credits = 10;
  b.queue(one, "f", ~1u);
  b.queue(one, "g", ~0u);
  b.queue(one, "f", 0);
  b.queue(one, "g", 1);
  b.join(w, {b.f("f"), b.f("g")});
  std::vector<std::uint32_t> orders;
  std::vector<slot> run;
  while (b.next(run))
    for (auto const c : run) orders.push_back(number(b.closures, c));
  EXPECT_EQ(orders, (std::vector<std::uint32_t>{~1u, ~0u, 0, 1}));
}

TEST(placement, prefetching_turn_takes_at_most_64_closures_of_a_session) {
  bench b;
  worker_slots w;
  w.slots = 0;  // prefetching only
  w.window = w.credits = 1'000;
  for (std::uint32_t i = 0; i < 100; ++i) {
    b.queue(one, "f", i);
    b.queue(other, "f", i);
  }
  b.join(w, {b.f("f")});
  std::vector<std::pair<session_number, std::size_t>> turns;
  std::vector<slot> run;
  while (b.next(run)) turns.emplace_back(b.closures[run.front()].owner, run.size());
  EXPECT_EQ(turns, (std::vector<std::pair<session_number, std::size_t>>{
                       {one, 64}, {other, 64}, {one, 36}, {other, 36}}));
}

TEST(placement, idle_worker_gets_one_closure_per_turn_within_its_window) {
  bench b;
  worker_slots w;
  w.slots = w.window = 5;
  for (std::uint32_t i = 0; i < 10; ++i) b.queue(one, "f", i);
  auto& idle = b.join(w, {b.f("f")});
  w.slots = 0;
  w.window = 3;
  auto& ahead = b.join(w, {b.f("f")});
  std::vector<slot> run;
  EXPECT_EQ(b.next(run), &idle);
  EXPECT_EQ(run.size(), 1u);
  b.open(idle, false);
  EXPECT_EQ(b.next(run), &ahead);
  EXPECT_EQ(run.size(), 3u);
}

TEST(placement, a_session_without_turns_has_left_every_ring) {
  bench b;
  worker_slots w;
  w.slots = 1;
  w.open = false;
  auto& f = b.join(w, {b.f("f")});
  auto& g = b.join(w, {b.f("g")});
  b.queue(one, "f", 0);
  b.queue(one, "g", 1);
  auto const last = b.queue(other, "g", 0);
  b.scheduler.end_turns(one);
  for (auto const& turn : b.scheduler.queue(one).turns) EXPECT_FALSE(turn.linked);
  b.open(f, true);
  b.open(g, true);
  EXPECT_EQ(b.scheduler.invalid(false), "");
  std::vector<slot> run;
  EXPECT_EQ(b.next(run), &g);
  EXPECT_EQ(run, std::vector{last});
  b.open(g, false);
  EXPECT_EQ(b.next(run), nullptr);
}

TEST(placement, last_worker_of_a_class_removes_the_class) {
  bench b;
  auto& left = b.join({}, {b.f("f"), b.f("g")});
  auto& right = b.join({}, {b.f("g"), b.f("f"), b.f("f")});
  EXPECT_EQ(left.placed, right.placed);
  auto const& turns = b.scheduler.queue(one).turns;
  b.queue(one, "f", 0);
  ASSERT_EQ(turns.size(), 1u);
  for (auto* w : {&left, &right}) {
    EXPECT_TRUE(turns[0].linked);
    b.open(*w, false);
    b.scheduler.remove(*w);
    EXPECT_EQ(w->placed, nullptr);
    b.scheduler.forget(*w);
    EXPECT_EQ(b.scheduler.invalid(false), "");
  }
  std::vector<slot> run;
  EXPECT_EQ(b.next(run), nullptr);
  EXPECT_FALSE(turns[0].linked);
}

TEST(placement, numbers_of_classes_are_used_again_so_that_sessions_do_not_grow) {
  bench b;
  b.queue(one, "f", 0);
  for (int i = 0; i < 100; ++i) {
    worker_slots w;
    w.open = false;
    b.scheduler.remove(b.join(std::move(w), {b.f("f"), b.f("g" + std::to_string(i))}));
  }
  EXPECT_EQ(b.scheduler.queue(one).turns.size(), 1u);
}

}  // namespace placement_cases
}  // namespace muster::core
