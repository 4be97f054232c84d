#include "server/history/log/cluster_log.hpp"

#include <gtest/gtest.h>

namespace muster::history {
namespace {

namespace of_agents = coordination::incidents;
using coordination::severity;

struct cluster_log_cases : testing::Test {
  cluster_log log;
  coordination::fault_ptr const broken = coordination::refusal(code::internal, "broken");

  template <class Incident>
  cluster_event told(Incident i) {
    coordination::changes c;
    c.incidents.push_back({"train", std::move(i)});
    log.fold(c);
    EXPECT_EQ(log.pending_events().size(), 1u);
    return log.pending_events().at(0);
  }
};

TEST_F(cluster_log_cases, a_generation_from_its_first_task_to_its_end) {
  auto const started = told(of_agents::generation_started{2, "/job:worker/task:0"});
  EXPECT_EQ(started.kind, cluster_event_kind::generation_started);
  EXPECT_EQ(started.severity, severity::info);
  EXPECT_EQ(started.cluster, "train");
  EXPECT_EQ(started.text, "generation 2, first task /job:worker/task:0");
  EXPECT_EQ(told(of_agents::cluster_ready{3}).text, "all 3 tasks have registered");
  EXPECT_EQ(told(of_agents::generation_failed{2, broken}).text, "generation 2: " + broken->message);
  EXPECT_EQ(told(of_agents::generation_failed{2, broken}).severity, severity::error);
  EXPECT_EQ(told(of_agents::generation_ended{2}).text, "generation 2: all tasks have left");
}

TEST_F(cluster_log_cases, tasks_and_barriers) {
  EXPECT_EQ(told(of_agents::task_restarted{"/job:worker/task:0"}).text,
            "registered again after a restart");
  EXPECT_EQ(told(of_agents::task_left{"/job:worker/task:0"}).about, "/job:worker/task:0");
  EXPECT_EQ(told(of_agents::task_failed{"/job:worker/task:0", broken}).severity, severity::error);
  auto const stuck = told(of_agents::barrier_stuck{"step_12", 2, 3, "Missing 1: …"});
  EXPECT_EQ(stuck.about, "step_12");
  EXPECT_EQ(stuck.text, "2 of 3 tasks have arrived; Missing 1: …");
}

TEST_F(cluster_log_cases, declaration_states_when_it_takes_effect) {
  EXPECT_EQ(told(of_agents::cluster_changed{
                     {{"worker", 2}, {"ps", 1}}, {}, of_agents::takes_effect::with_next_generation})
                .text,
            "worker=2,ps=1 becomes no tasks with the next generation");
  EXPECT_EQ(
      told(of_agents::cluster_changed{{}, {{"worker", 2}}, of_agents::takes_effect::never}).text,
      "no tasks becomes worker=2, but without effect: this cluster does not start new generations");
}

TEST_F(cluster_log_cases, only_the_first_of_many_simultaneous_events_are_logged_per_cluster) {
  coordination::changes c;
  for (int i = 0; i < 30; ++i) {
    c.incidents.push_back({"one", of_agents::barrier_failed{"b", broken}});
    c.incidents.push_back({"one", of_agents::task_failed{"/job:worker/task:0", broken}});
  }
  c.incidents.push_back({"two", of_agents::barrier_failed{"b", broken}});
  log.fold(c);
  auto const count = [&](cluster_event_kind k) {
    std::size_t n = 0;
    for (auto const& e : log.pending_events()) n += e.kind == k;
    return n;
  };
  EXPECT_EQ(count(cluster_event_kind::barrier_failed), cluster_log::singly + 1);
  EXPECT_EQ(count(cluster_event_kind::barriers_failed), 1u);
  EXPECT_EQ(count(cluster_event_kind::task_error), cluster_log::singly);
  log.fold({});
  EXPECT_TRUE(log.pending_events().empty());
}

}  // namespace
}  // namespace muster::history
