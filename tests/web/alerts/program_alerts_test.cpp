#include <gtest/gtest.h>

#include "web/alerts/alerts.hpp"

namespace muster::web {
namespace program_alert_cases {

using namespace std::chrono_literals;

core::time_point const now{std::chrono::hours(490'000)};

struct program_alerts : testing::Test {
  program_alerts() {
    facts.now = now;
    facts.pools.resize(1);
  }
  std::vector<std::string> said() const {
    std::vector<std::string> texts;
    for (auto const& i : alerts_of(facts)) texts.push_back(i.rule + ": " + i.title);
    return texts;
  }
  alert only() const {
    auto const items = alerts_of(facts);
    EXPECT_EQ(items.size(), 1u);
    return items.empty() ? alert{} : items[0];
  }
  pool_facts& pool() { return facts.pools[0]; }
  alert_facts facts;
};

TEST_F(program_alerts, failed_programs_are_named_with_their_cause_or_counted) {
  pool().failed_programs = {
      {core::program_id{9}, "train", "rank 3 ended with 1 on node-a", now - 5s}};
  auto const one = only();
  EXPECT_EQ(one.rule, "program-failed");
  EXPECT_EQ(one.severity, alert_severity::error);
  EXPECT_EQ(one.title, "Program train failed");
  EXPECT_EQ(one.detail, "rank 3 ended with 1 on node-a");
  EXPECT_EQ(one.since, now - 5s);
  EXPECT_EQ(one.link, "/programs/prog_0000000000000009");
  EXPECT_EQ(one.command, "muster programs show prog_0000000000000009");
  for (std::uint64_t id = 1; id <= 3; ++id)
    pool().failed_programs.push_back({core::program_id{id}, "eval", "killed", now - 9s});
  auto const many = only();
  EXPECT_EQ(many.rule, "programs-failed");
  EXPECT_EQ(many.title, "4 programs failed within an hour");
  EXPECT_EQ(many.detail, "train, eval, eval and 1 more; the newest: rank 3 ended with 1 on node-a");
  EXPECT_EQ(many.link, "/programs?state=FAILED");
}

TEST_F(program_alerts, hanging_program_names_the_hanging_rank) {
  pool().hung_programs = {{core::program_id{9}, "train", "worker:3 on node-a hangs", now - 70s}};
  auto const one = only();
  EXPECT_EQ(one.rule, "program-hangs");
  EXPECT_EQ(one.severity, alert_severity::error);
  EXPECT_EQ(one.title, "Program train hangs");
  EXPECT_EQ(one.detail, "worker:3 on node-a hangs");
  EXPECT_EQ(one.since, now - 70s);
  EXPECT_EQ(one.link, "/programs/prog_0000000000000009");
  EXPECT_EQ(one.command, "muster programs stacks prog_0000000000000009");
  pool().hung_programs[0].sure = false;
  EXPECT_EQ(only().severity, alert_severity::warning) << "the program may only be waiting";
  for (std::uint64_t id = 1; id <= 3; ++id)
    pool().hung_programs.push_back({core::program_id{id}, "eval", "nothing moves", now - 9s});
  auto const many = only();
  EXPECT_EQ(many.rule, "programs-hang");
  EXPECT_EQ(many.title, "4 programs hang");
}

TEST_F(program_alerts, long_waiting_program_shows_why_it_waits) {
  pool().cluster = "two";
  pool().waiting_programs = {{core::program_id{2}, "train", "no worker takes programs", now - 29s}};
  EXPECT_TRUE(said().empty()) << "most start at once";
  pool().waiting_programs[0].since = now - 30s;
  auto const one = only();
  EXPECT_EQ(one.rule, "program-waits");
  EXPECT_EQ(one.severity, alert_severity::error) << "as a closure that no worker can take";
  pool().waiting_programs[0].sure = false;
  EXPECT_EQ(only().severity, alert_severity::warning) << "a worker only has to become idle";
  EXPECT_EQ(one.title, "Program train is waiting");
  EXPECT_EQ(one.detail, "no worker takes programs");
  EXPECT_EQ(one.link, "/programs/prog_0000000000000002?cluster=two");
  for (int n = 0; n < 3; ++n) pool().waiting_programs.push_back(pool().waiting_programs[0]);
  EXPECT_EQ(said(), std::vector<std::string>{"programs-wait: 4 programs are waiting"});
}

}  // namespace program_alert_cases
}  // namespace muster::web
