#include "server/core/sessions/session_table.hpp"

#include <gtest/gtest.h>

namespace muster::core {
namespace session_table_cases {

constexpr time_point t0{std::chrono::seconds(100)};

session& open(session_table& table, delivery d, std::string key = {}) {
  session s;
  s.id = table.next_id();
  s.spec.delivery = d;
  s.spec.idempotency_key = std::move(key);
  s.attached = s.traits().resumable;
  return table.add(std::move(s));
}

session_spec keyed(std::string key, std::string submitter = {}) {
  session_spec s;
  s.idempotency_key = std::move(key);
  s.submitted_by = std::move(submitter);
  return s;
}

TEST(session_table, session_is_found_by_id_number_and_key) {
  server_wide wide{time_point{}};
  changes told;
  session_table table{wide, told};
  auto& s = open(table, delivery::job, "k");
  EXPECT_EQ(table.find(s.id), &s);
  EXPECT_EQ(&table.of(s.number), &s);
  EXPECT_EQ(table.find_key(keyed("k")), &s);
  EXPECT_EQ(table.find_key(keyed("k", "somebody else")), nullptr);
  EXPECT_EQ(table.jobs(job_state::queued), 1u);
  table.note_start(s);
  EXPECT_EQ(table.jobs(job_state::queued), 0u);
  EXPECT_EQ(table.jobs(job_state::running), 1u);
  EXPECT_EQ(table.invalid(), "");
}

TEST(session_table, reason_of_a_removal_is_kept_and_the_number_is_reused) {
  server_wide wide{time_point{}};
  changes told;
  session_table table{wide, told};
  auto& s = open(table, delivery::job, "k");
  auto const id = s.id;
  auto const number = s.number;
  s.state = job_state::failed;
  table.finished(s);
  table.erase(s, release_reason::job_deleted, t0);
  EXPECT_EQ(table.find(id), nullptr);
  EXPECT_EQ(table.find_key(keyed("k")), nullptr);
  EXPECT_TRUE(table.was(id));
  EXPECT_EQ(table.note_of(id)->why, release_reason::job_deleted);
  EXPECT_EQ(table.jobs(job_state::failed), 1u) << "since the start";
  auto& next = open(table, delivery::stream);
  EXPECT_EQ(next.number, number);
  EXPECT_NE(next.id, id);
  EXPECT_EQ(table.invalid(), "");
}

TEST(session_table, oldest_finished_job_is_removed_first) {
  server_wide wide{time_point{}};
  changes told;
  session_table table{wide, told};
  auto& a = open(table, delivery::job);
  auto& b = open(table, delivery::job);
  for (auto* s : {&b, &a}) {
    s->state = job_state::succeeded;
    table.finished(*s);
  }
  EXPECT_EQ(table.pop_oldest_finished(), &b);
  EXPECT_EQ(table.pop_oldest_finished(), &a);
  EXPECT_EQ(table.pop_oldest_finished(), nullptr);
}

TEST(session_table, a_session_is_settled_once_a_step) {
  server_wide wide{time_point{}};
  changes told;
  session_table table{wide, told};
  auto& s = open(table, delivery::stream);
  table.settle_later(s);
  table.settle_later(s);
  EXPECT_NE(table.invalid(), "");
  EXPECT_EQ(table.take_unsettled(), std::vector{s.id});
}

}  // namespace session_table_cases
}  // namespace muster::core
