#include "server/core/scheduling/scheduler.hpp"

#include <gtest/gtest.h>

namespace muster::core {
namespace scheduler_cases {

constexpr session_number one{1}, two{2};
constexpr function_id f{0};
constexpr time_point t0{std::chrono::seconds(100)};

struct scheduler_test : testing::Test {
  server_wide wide{time_point{}};
  closure_table records{wide};
  core::scheduler scheduler{records};
  std::uint32_t order = 0;

  scheduler_test() {
    scheduler.open(one, session_id{1}, 1);
    scheduler.open(two, session_id{2}, 1);
  }
  slot create(session_number n, closure_options options = {}) {
    closure_spec spec;
    spec.function = f;
    spec.extras = std::make_shared<closure_extras>(closure_extras{std::move(options), {}, {}});
    auto const c = records.allocate(n);
    records[c].function = f;
    records[c].order = order++;
    records[c].queue = scheduler.queue_for(n, spec);
    return c;
  }
  slot queue(session_number n, closure_options options = {}) {
    auto const c = create(n, std::move(options));
    scheduler.push_back(c);
    return c;
  }
  worker_slots& attach(std::uint32_t n, std::uint32_t slots = 1, resource_amounts resources = {}) {
    worker_slots s;
    s.stream = stream_id{n};
    s.number = worker_number{n};
    s.job = "worker";
    s.index = n;
    s.slots = s.window = s.credits = slots;
    s.free = s.resources = std::move(resources);
    auto& w = scheduler.add(std::move(s));
    scheduler.reconsider(w);
    scheduler.place(w, {f});
    return w;
  }
  /// Assigns closures until no worker has room.
  std::vector<std::pair<slot, std::uint32_t>> hand_out(core::scheduler& by, closure_table& table) {
    std::vector<std::pair<slot, std::uint32_t>> out;
    std::vector<slot> run;
    while (auto* w = by.next(run)) {
      for (auto const c : run) {
        table[c].worker = w->number;
        if (by.hold(*w, c)) table[c].phase = closure_phase::running;
        by.reserve(*w, c);
        out.emplace_back(c, raw(w->number));
      }
      by.update(*w);
    }
    return out;
  }
};

TEST_F(scheduler_test, sessions_take_turns_and_a_higher_priority_goes_first) {
  auto const a = queue(one), b = queue(one), c = queue(two);
  auto const urgent = queue(one, {.priority = 5});
  attach(1, 4);
  auto const out = hand_out(scheduler, records);
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[0].first, urgent);
  EXPECT_EQ(out[1].first, c);
  EXPECT_EQ(out[2].first, a);
  EXPECT_EQ(out[3].first, b);
  EXPECT_EQ(scheduler.invalid(true), "");
}

TEST_F(scheduler_test, resources_are_taken_while_a_closure_runs) {
  closure_options gpu;
  gpu.resources = {{"gpu", 1}};
  auto const a = queue(one, gpu), b = queue(one, gpu);
  auto& w = attach(1, 4, {{"gpu", 1}});
  EXPECT_EQ(hand_out(scheduler, records).size(), 1u);
  EXPECT_FALSE(scheduler.has_free(w, b));
  records[a].phase = closure_phase::succeeded;
  scheduler.let_go(w, a);
  records[a].worker = {};
  scheduler.update(w);
  EXPECT_EQ(hand_out(scheduler, records).size(), 1u);
  EXPECT_EQ(scheduler.invalid(true), "");
}

TEST_F(scheduler_test, reports_unmet_demand) {
  attach(1, 1, {{"gpu", 1}});
  using kind = unmet_need::kind;
  EXPECT_EQ(scheduler.unmet(f, {"", -1, {{"zone", "a"}}, {}, {}}),
            (unmet_need{kind::label, "zone", "a", 0, 1}));
  EXPECT_EQ(scheduler.unmet(f, {"", -1, {}, {{"gpu", 2}}, {}}),
            (unmet_need{kind::resource, "gpu", {}, 2, 1}));
  EXPECT_FALSE(scheduler.unmet(f, {"", -1, {}, {{"gpu", 1}}, {}}));
}

TEST_F(scheduler_test, a_gang_is_planned_whole_or_not_at_all) {
  scheduler.gangs.expect("g");
  scheduler.gangs.expect("g");
  std::uint64_t id = 0;
  bool complete = false;
  for (int i = 0; i < 2; ++i) {
    auto const c = create(one);
    records[c].with_details().gang = id = scheduler.gangs.join("g", records.id_of(c));
    records[c].phase = closure_phase::gathering;
    scheduler.defer(c);
    complete = scheduler.gangs.member_ready(id, t0);
  }
  scheduler.gangs.end_of_request();
  EXPECT_TRUE(complete);
  attach(1);
  EXPECT_TRUE(scheduler.plan(*scheduler.gangs.find(id), true).empty());
  attach(2);
  auto const plan = scheduler.plan(*scheduler.gangs.find(id), true);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_NE(plan[0].second, plan[1].second);
  EXPECT_EQ(scheduler.invalid(true), "");
}

}  // namespace scheduler_cases
}  // namespace muster::core
