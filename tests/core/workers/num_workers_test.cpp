// What functions are told as the number of workers: declared, or up to the highest index; it stays
// while workers come and go.
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

struct num_workers : testing::Test {
  cluster c;

  static joining builder(std::int64_t index = -1) {
    return {.functions = {"f", "make"}, .slots = 1, .credits = 4, .index = index};
  }
  static session_spec declared(std::uint32_t n) {
    session_spec s;
    s.num_workers = n;
    return resumable_values(s);
  }
  per_worker_id create(session_id owner) {
    create_per_worker e;
    e.function = c.function("make");
    e.args = blob("[]");
    e.owner = owner;
    return std::get<per_worker_reply>(c.reply_to_event(std::move(e)).body).id;
  }
  /// What the builders of the last step are told.
  std::vector<std::uint32_t> told() const {
    std::vector<std::uint32_t> all;
    for (auto const& a : c.fx().assignments) all.push_back(a.num_workers);
    return all;
  }
  std::vector<std::int64_t> built_on(per_worker_id v) const {
    std::vector<std::int64_t> all;
    auto const view = c.core.per_worker().look(v).value();
    for (auto const& part : view.components) all.push_back(part.index);
    return all;
  }
  std::int64_t joins_as() {
    c.attach(builder());
    return c.fx().welcomes.at(0).index;
  }
};
using told_numbers = std::vector<std::uint32_t>;

TEST_F(num_workers, goes_up_to_the_highest_index_of_the_job_alone) {
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 0u);
  c.attach(builder());
  c.attach({.index = 5, .job = "ps"});
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 1u);
  EXPECT_EQ(c.core.workers().tasks_of("ps"), 6u);
  EXPECT_EQ(c.core.workers().tasks_of("work"), 0u);
  auto const before = c.core.workers().tasks_version();
  auto const second = c.attach(builder());
  EXPECT_NE(c.core.workers().tasks_version(), before);
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 2u);
  c.lose(second);
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 2u) << "it may come back, or be followed";
  c.advance(c.core.configuration().task_retention);
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 1u) << "forgotten";
}

TEST_F(num_workers, is_at_least_what_the_cluster_declares) {
  config three;
  three.declared_jobs = {{"worker", 3}};
  cluster d(three);
  EXPECT_EQ(d.core.workers().tasks_of("worker"), 3u);
  d.attach({.index = 3});
  EXPECT_EQ(d.core.workers().tasks_of("worker"), 4u);
}

TEST_F(num_workers, is_what_the_session_declares_however_late_workers_come) {
  auto const s = c.open({}, declared(3)).id;
  auto const v = create(s);
  stream_id w{};
  for (int i = 0; i < 3; ++i) {
    w = c.attach(builder());
    EXPECT_EQ(told(), told_numbers{3});
  }
  EXPECT_EQ(built_on(v), (std::vector<std::int64_t>{0, 1, 2}));
  c.succeed(w, c.held(w).at(0), "null");
  c.step(core::schedule{{}, s, c.specs({"f"}), 0});
  EXPECT_EQ(told(), told_numbers{3}) << "closures see the same";
}

TEST_F(num_workers, a_task_beyond_what_is_declared_builds_nothing) {
  auto const v = create(c.open({}, declared(1)).id);
  c.attach(builder());
  c.attach(builder());
  EXPECT_TRUE(c.fx().assignments.empty());
  EXPECT_EQ(built_on(v), std::vector<std::int64_t>{0});
}

TEST_F(num_workers, a_value_that_is_built_again_is_told_the_same_number) {
  auto const s = c.open({}, resumable_values()).id;
  auto const first = c.attach(builder());
  create(s);
  EXPECT_EQ(told(), told_numbers{1});
  c.attach(builder());
  EXPECT_EQ(told(), told_numbers{2});
  c.succeed(first, c.held(first).at(0), "null");
  c.lose(first);
  c.attach(builder(0));
  EXPECT_EQ(told(), told_numbers{1});
}

TEST_F(num_workers, a_newcomer_takes_the_place_of_a_lost_task_that_has_a_value_to_build) {
  std::vector<stream_id> w;
  for (int i = 0; i < 3; ++i) w.push_back(c.attach(builder()));
  create(c.open({}, resumable_values()).id);
  EXPECT_EQ(told(), (told_numbers{3, 3, 3}));
  c.lose(w[1]);
  EXPECT_EQ(joins_as(), 1);
  EXPECT_EQ(told(), told_numbers{3});
  EXPECT_EQ(joins_as(), 3);
}

TEST_F(num_workers, a_newcomer_takes_the_place_of_a_lost_task_that_is_declared) {
  auto const s = c.open({}, declared(2)).id;
  auto const lost = c.attach(builder());
  c.attach(builder());
  c.lose(lost);
  auto const v = create(s);
  EXPECT_EQ(joins_as(), 0);
  EXPECT_EQ(told(), told_numbers{2});
  EXPECT_EQ(built_on(v), (std::vector<std::int64_t>{0, 1}));
}

TEST_F(num_workers, lost_tasks_that_nobody_counts_are_passed_over_as_ever) {
  c.attach(builder());
  c.lose(c.attach(builder()));
  auto const s = c.open({}, declared(1)).id;
  EXPECT_EQ(joins_as(), 2);
  EXPECT_EQ(c.state("worker", 1), task_state::error);
  c.step(close_session{s});
}

TEST_F(num_workers, has_the_limit_of_tasks) {
  auto spec = declared(static_cast<std::uint32_t>(config{}.tasks_max) + 1);
  open_session e;
  e.spec = spec;
  auto const why = c.status_of(std::move(e));
  EXPECT_EQ(why.code, code::invalid_argument);
  EXPECT_EQ(why.message, "num_workers: 20001, the limit is 20000");
}

}  // namespace
}  // namespace muster::core
