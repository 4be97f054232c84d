#include "server/hub/programs/program_clusters.hpp"

#include <gtest/gtest.h>

namespace muster::server {
namespace {

using namespace std::chrono_literals;
using core::program_id;
using core::program_state;

struct clusters_of_programs : testing::Test {
  core::time_point clock{1s};
  std::vector<log_event> told;
  coordination_hub all{{},
                       7,
                       {.now = [this] { return clock; },
                        .arm = [](core::time_point) {},
                        .tell = [](log_event const&) {}}};
  std::vector<std::string> removed;
  std::vector<core::coordination_failed> failures;
  std::vector<std::pair<std::uint32_t, core::attempt_record::event>> notes;
  program_clusters programs{
      all,
      {.tell = [this](log_event const& n) { told.push_back(n); },
       .remove =
           [this](std::string const& name) {
             removed.push_back(name);
             EXPECT_TRUE(all.remove(name).ok());
           },
       .failed = [this](core::coordination_failed e) { failures.push_back(std::move(e)); },
       .noted = [this](
                    core::program_id, std::uint32_t attempt,
                    core::attempt_record::event e) { notes.emplace_back(attempt, std::move(e)); }},
      {.clusters_max = 3, .ended_max = 2}};

  static core::attempt_sheet sheet(std::uint64_t id, std::uint32_t attempt = 1) {
    core::program_spec spec;
    spec.name = "train";
    core::attempt_sheet s;
    for (auto const* type : {"chief", "worker", "ps", "evaluator"}) {
      auto const group = static_cast<std::uint32_t>(spec.tasks.size());
      spec.tasks.push_back({type});
      for (std::uint32_t i = 0; i < (type == std::string("worker") ? 2u : 1u); ++i)
        s.tasks.push_back({group, i});
    }
    s.spec = std::make_shared<core::program_spec const>(std::move(spec));
    s.program = program_id{id};
    s.attempt = attempt;
    s.tunnels = true;
    return s;
  }
  void say(std::uint64_t id, program_state s) { programs.changed({program_id{id}, s, 1}); }
  core::coordination::cluster_view view(std::uint64_t id) const {
    return all.state().view(*all.state().find(core::text(program_id{id})), clock);
  }
  void meet(std::uint64_t id, core::coordination::task_index task = 0, std::uint64_t process = 1) {
    core::coordination::register_task r;
    r.task.index = task;
    r.incarnation = core::incarnation{process};
    ask(id, std::move(r));
  }
  template <class Request>
  void ask(std::uint64_t id, Request r) {
    all.ask(*all.state().find(core::text(program_id{id})), std::move(r), [](auto const&) {});
  }
  void report(std::uint64_t id, core::coordination::task_index task, std::string message) {
    core::coordination::report_error r;
    r.task.index = task;
    r.code = muster::code::internal;
    r.message = std::move(message);
    ask(id, std::move(r));
  }
  void tick() {
    clock += 1ms;
    all.on_deadline();
  }
};

TEST_F(clusters_of_programs, contain_the_training_tasks_and_one_generation_per_attempt) {
  programs.begin(sheet(1));
  EXPECT_TRUE(programs.serves(program_id{1}, 1));
  EXPECT_EQ(programs.of(program_id{1}), core::text(program_id{1}));
  auto const jobs = view(1).spec.jobs;
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].name, "chief");
  EXPECT_EQ(jobs[1].name, "worker");
  EXPECT_EQ(jobs[1].tasks, 2u);
  programs.begin(sheet(1));  // to another worker, or repeated
  tick();
  EXPECT_EQ(view(1).generation.number, 1u);
  programs.begin(sheet(1, 2));
  tick();
  EXPECT_EQ(view(1).generation.number, 2u);
  EXPECT_TRUE(programs.serves(program_id{1}, 2));
  EXPECT_FALSE(programs.serves(program_id{1}, 1));
}

TEST_F(clusters_of_programs, torch_store_is_restarted_by_each_attempt_and_closed_at_the_end) {
  std::vector<std::string> seen;
  programs.set_store_hooks({[&](auto c, program_id p, std::uint32_t ranks) {
                              seen.push_back("begin " + all.state().spec(c).name + " " +
                                             std::to_string(ranks));
                              EXPECT_EQ(all.state().spec(c).name, core::text(p));
                            },
                            [&](auto c) { seen.push_back("end " + all.state().spec(c).name); }});
  auto with_store = [](std::uint32_t attempt) {
    auto s = sheet(1, attempt);
    s.store = true;
    return s;
  };
  auto const name = core::text(program_id{1});
  programs.begin(with_store(1));
  programs.begin(with_store(1));
  programs.begin(with_store(2));
  EXPECT_EQ(seen, (std::vector{"begin " + name + " 3", "begin " + name + " 3"}));
  seen.clear();
  say(1, program_state::succeeded);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.front(), "end " + name);
  seen.clear();
  auto wanted = *sheet(2).spec;
  wanted.store = core::store_place::server;
  auto older = sheet(2);
  older.spec = std::make_shared<core::program_spec const>(wanted);
  programs.begin(older);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].kind, "program_without_store");
  EXPECT_EQ(told[0].text,
            "attempt 1 of 'train': rank 0 provides the TCPStore, because the version of a worker "
            "does not support 'store'");
}

TEST_F(clusters_of_programs, are_not_for_attempts_without_tunnels) {
  auto old = sheet(1);
  old.tunnels = false;
  programs.begin(old);
  EXPECT_FALSE(programs.serves(program_id{1}, 1));
  EXPECT_EQ(programs.of(program_id{1}), "");
  EXPECT_TRUE(told.empty());
}

TEST_F(clusters_of_programs, full_cluster_table_is_logged_and_the_attempt_continues) {
  for (std::uint64_t id : {1, 2, 3, 4}) programs.begin(sheet(id));
  EXPECT_TRUE(programs.serves(program_id{3}, 1));
  EXPECT_FALSE(programs.serves(program_id{4}, 1));
  programs.begin(sheet(4));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].kind, "program_uncoordinated");
  EXPECT_EQ(told[0].text,
            "attempt 1 of 'train' has no coordination cluster, so rank 0 provides the coordination "
            "service for the other ranks: 3 "
            "programs have a coordination cluster, which is the limit");
}

TEST_F(clusters_of_programs, are_kept_after_the_end_and_removed_with_the_program) {
  for (std::uint64_t id : {1, 2, 3}) {
    programs.begin(sheet(id));
    meet(id);
    say(id, program_state::running);
    say(id, program_state::succeeded);
  }
  EXPECT_EQ(removed, std::vector{core::text(program_id{1})}) << "two are kept";
  programs.changed({.program = program_id{2}, .gone = true});
  EXPECT_EQ(removed.back(), core::text(program_id{2}));
  EXPECT_NE(programs.of(program_id{3}), "");
}

TEST_F(clusters_of_programs, are_removed_at_the_end_if_no_agent_connected) {
  programs.begin(sheet(1));
  say(1, program_state::succeeded);
  EXPECT_EQ(removed, std::vector{core::text(program_id{1})})
      << "tasks that never come are shown as missing";
  programs.begin(sheet(2));
  meet(2);
  programs.begin(sheet(2, 2));
  tick();
  tick();
  say(2, program_state::succeeded);
  EXPECT_NE(programs.of(program_id{2}), "") << "the first attempt had agents";
}

// Programs without an agent do not count towards the limit of kept clusters.
TEST_F(clusters_of_programs, are_kept_when_many_programs_without_clusters_end) {
  programs.begin(sheet(1));
  meet(1);
  say(1, program_state::succeeded);
  for (std::uint64_t id : {2, 3, 4, 5}) {
    auto old = sheet(id);
    old.tunnels = false;
    programs.begin(old);
    say(id, program_state::succeeded);
  }
  EXPECT_NE(programs.of(program_id{1}), "");
}

// Killed between the order to end the old generation and its end.
TEST_F(clusters_of_programs, generation_due_when_the_process_died_is_started) {
  auto spec = core::coordination::cluster_spec{.name = core::text(program_id{1}),
                                               .jobs = {{"worker", 2, false}}};
  core::coordination::restored_cluster was;
  was.cluster.spec = spec;
  was.cluster.next = spec;
  was.cluster.generation = 1;
  was.cluster.incarnation = core::incarnation{5};
  was.cluster.started = clock;
  ASSERT_TRUE(all.restore(std::move(was)).ok());
  programs.restored(program_id{1}, 2, true, false);
  tick();
  tick();
  EXPECT_EQ(view(1).generation.number, 2u);
}

TEST_F(clusters_of_programs, of_unknown_programs_are_removed) {
  programs.begin(sheet(1));
  programs.begin(sheet(2));
  programs.drop_unknown([](program_id id) { return id == program_id{2}; });
  EXPECT_EQ(removed, std::vector{core::text(program_id{1})});
}

TEST_F(clusters_of_programs, report_the_first_failed_task_to_their_program) {
  programs.begin(sheet(1));
  for (auto const task : {0u, 1u, 2u}) meet(1, task);
  report(1, 2, "loss is NaN");
  report(1, 1, "a peer is gone");
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].program, program_id{1});
  EXPECT_EQ(failures[0].attempt, 1u);
  EXPECT_EQ(failures[0].what,
            (core::coordination_failure{muster::code::internal, "worker:1", "loss is NaN"}));
  ASSERT_FALSE(notes.empty()) << "for the record of the attempt";
  EXPECT_EQ(notes[0].first, 1u);
  EXPECT_EQ(notes[0].second.kind, core::attempt_event::task_failed);
  EXPECT_EQ(notes[0].second.about, "worker:1");
  EXPECT_EQ(notes[0].second.text, "INTERNAL: loss is NaN");
}

TEST_F(clusters_of_programs, report_late_tasks_at_the_barriers_of_the_attempt) {
  programs.begin(sheet(1));
  for (auto const task : {0u, 1u, 2u}) meet(1, task);
  for (auto const task : {0u, 2u, 1u}) {
    clock += 100ms;
    core::coordination::enter_barrier b;
    b.task.index = task;
    b.id = "step";
    b.timeout = 10s;
    ask(1, std::move(b));
  }
  auto const late = programs.late(program_id{1}, 1, {0, 1, 5});
  ASSERT_EQ(late.barriers.size(), 1u);
  EXPECT_EQ(late.barriers[0].barrier, "step");
  EXPECT_EQ(late.barriers[0].last, "worker:0");
  EXPECT_EQ(late.barriers[0].late, 100ms);
  using arrival = core::attempt_record::meeting::arrival;
  EXPECT_EQ(late.barriers[0].came, (std::vector<arrival>{{0, 0}, {1, 200'000}, {5, 100'000}}))
      << "by rank";
  ASSERT_EQ(late.latecomers.size(), 1u);
  EXPECT_EQ(late.latecomers[0].task, "worker:0");
  EXPECT_TRUE(programs.late(program_id{1}, 2, {}).barriers.empty());
  EXPECT_TRUE(programs.late(program_id{2}, 1, {}).barriers.empty());
}

TEST_F(clusters_of_programs, report_timed_out_barriers_to_their_program) {
  programs.begin(sheet(1));
  for (auto const task : {0u, 1u, 2u}) meet(1, task);
  core::coordination::enter_barrier b;
  b.task.index = 0;
  b.id = "saved";
  b.timeout = 1s;
  ask(1, b);
  clock += 2s;
  tick();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].what.code, muster::code::deadline_exceeded);
  EXPECT_EQ(failures[0].what.task, "");
  EXPECT_NE(failures[0].what.message.find("saved"), std::string::npos);
}

// The old ranks are stopped, so their errors are consequences.
TEST_F(clusters_of_programs, errors_of_the_previous_attempt_are_not_reported) {
  programs.begin(sheet(1));
  for (auto const task : {0u, 1u, 2u}) meet(1, task);
  programs.begin(sheet(1, 2));
  tick();
  tick();
  EXPECT_TRUE(failures.empty());
  for (auto const task : {0u, 1u, 2u}) meet(1, task, 2);
  report(1, 0, "again");
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].attempt, 2u);
}

TEST_F(clusters_of_programs, changes_are_reported_after_they_have_taken_effect) {
  std::vector<program_id> heard;
  programs.on_change([&](program_id id) { heard.push_back(id); });
  programs.begin(sheet(1));
  say(1, program_state::restarting);
  EXPECT_EQ(heard, std::vector{program_id{1}});
}

}  // namespace
}  // namespace muster::server
