// The number of workers passed to functions: declared, or the highest index plus one.
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
  std::vector<std::uint32_t> told() const {
    std::vector<std::uint32_t> all;
    for (auto const& a : c.fx().assignments) all.push_back(a.num_workers);
    return all;
  }
  std::vector<std::int64_t> built_on(per_worker_id v) const {
    std::vector<std::int64_t> all;
    auto const view = c.core.per_worker().find(v).value();
    for (auto const& part : view.components) all.push_back(part.index);
    return all;
  }
  std::int64_t joins_as() {
    c.attach(builder());
    return c.fx().welcomes.at(0).index;
  }
};
using told_numbers = std::vector<std::uint32_t>;

TEST_F(num_workers, is_one_more_than_the_highest_index_of_the_job) {
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
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 2u) << "it can return or be replaced";
  c.advance(c.core.configuration().task_retention);
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 1u) << "forgotten";
}

TEST_F(num_workers, is_at_least_the_declared_number) {
  config three;
  three.declared_jobs = {{"worker", 3}};
  cluster d(three);
  EXPECT_EQ(d.core.workers().tasks_of("worker"), 3u);
  d.attach({.index = 3});
  EXPECT_EQ(d.core.workers().tasks_of("worker"), 4u);
}

TEST_F(num_workers, is_the_number_declared_by_the_session_however_late_workers_attach) {
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
  EXPECT_EQ(told(), told_numbers{3}) << "closures receive the same number";
}

TEST_F(num_workers, task_beyond_the_declared_number_builds_nothing) {
  auto const v = create(c.open({}, declared(1)).id);
  c.attach(builder());
  c.attach(builder());
  EXPECT_TRUE(c.fx().assignments.empty());
  EXPECT_EQ(built_on(v), std::vector<std::int64_t>{0});
}

TEST_F(num_workers, rebuilt_value_receives_the_same_number) {
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

TEST_F(num_workers, index_of_a_lost_task_above_the_number_is_not_reused) {
  c.attach(builder());
  c.lose(c.attach(builder()));
  auto const s = c.open({}, declared(1)).id;
  EXPECT_EQ(joins_as(), 2);
  EXPECT_EQ(c.state("worker", 1), task_state::error);
  c.step(close_session{s});
}

TEST_F(num_workers, counts_all_tasks_of_a_worker_program_from_the_first_that_attaches) {
  joining const a{.group = 7, .group_size = 3};
  joining const b{.group = 8, .group_size = 2};
  c.attach(a);
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 3u);
  c.attach(b);
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 5u);
  c.attach({});
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 6u);
  for (auto const& w : {b, a, a}) c.attach(w);
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 6u);
}

TEST_F(num_workers, follows_the_explicit_index_of_a_worker_program) {
  c.attach({.index = 5, .group = 7, .group_size = 3, .group_position = 1});
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 7u);
}

TEST_F(num_workers, counts_no_program_whose_tasks_have_all_left) {
  joining const a{.group = 7, .group_size = 2};
  for (auto const w : {c.attach(a), c.attach(a)}) {
    c.step(worker_drain{w, true});
    c.leave(w);
  }
  c.attach({.group = 8, .group_size = 2});
  EXPECT_EQ(c.fx().welcomes.at(0).index, 0);
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 2u);
}

TEST_F(num_workers, forgets_a_task_that_has_left_a_program_for_good) {
  joining const a{.group = 7, .group_size = 2};
  c.attach(a);
  auto const second = c.attach(a);
  c.step(worker_drain{second, true});
  c.leave(second);
  c.advance(c.core.configuration().task_retention);
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 1u);
}

TEST_F(num_workers, a_newcomer_does_not_get_an_index_that_a_replacement_is_about_to_take) {
  auto const s = c.open({}, declared(2)).id;
  c.attach({.incarnation = 1, .group = 7, .group_size = 2});
  c.lose(c.attach({.incarnation = 2, .group = 7, .group_size = 2}));
  EXPECT_EQ(joins_as(), 2);
  c.attach({.incarnation = 3, .replaces = 2, .group = 7, .group_size = 2});
  EXPECT_EQ(c.fx().welcomes.at(0).index, 1);
  c.leave(c.attach({.incarnation = 4, .replaces = 3, .group = 7, .group_size = 2}));
  EXPECT_EQ(joins_as(), 3);
  c.attach({.incarnation = 5, .replaces = 4, .group = 7, .group_size = 2});
  EXPECT_EQ(c.fx().welcomes.at(0).index, 1);
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 4u);
  c.step(close_session{s});
}

TEST_F(num_workers, program_restarted_on_its_host_gets_the_indices_of_the_lost_one) {
  joining const a{.host = "one", .group = 7, .group_size = 2};
  joining const b{.host = "two", .group = 8, .group_size = 2};
  auto const first = c.attach(a), second = c.attach(a);
  c.attach(b), c.attach(b);
  c.lose(first), c.lose(second);
  for (std::int64_t const index : {0, 1}) {
    c.attach({.host = "one", .group = 9, .group_size = 2});
    EXPECT_EQ(c.fx().welcomes.at(0).index, index);
  }
  c.attach({.host = "one", .group = 10, .group_size = 1});
  EXPECT_EQ(c.fx().welcomes.at(0).index, 4);
  EXPECT_EQ(c.core.workers().tasks_of("worker"), 5u);
}

TEST_F(num_workers, a_program_keeps_its_indices_on_a_server_that_declares_fewer) {
  config two;
  two.declared_jobs = {{"worker", 2}};
  cluster d(two);
  for (std::int64_t const last : {3, 1, 2, 0}) {
    d.attach({.group = 7, .group_size = 4, .last_index = last});
    EXPECT_EQ(d.fx().welcomes.at(0).index, last);
  }
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
