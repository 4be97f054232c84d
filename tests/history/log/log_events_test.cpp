#include "server/history/log/log_events.hpp"

#include <gtest/gtest.h>

#include "server/history/log/incident_texts.hpp"

namespace muster::history {
namespace {

using namespace std::chrono_literals;

constexpr time_point t0{std::chrono::seconds(100)};
constexpr closure_id one{1}, two{2};

changes of(std::vector<incident> all) {
  changes c;
  c.incidents = std::move(all);
  return c;
}

changes dropped(closure_id id, release_reason why, bool restored = false) {
  changes c;
  c.values.push_back({id, value_place::gone, why, restored});
  return c;
}

struct log_events_cases : testing::Test {
  config limits;
  log_events log{limits};

  log_event told(incident i) {
    log.fold(of({std::move(i)}), t0);
    EXPECT_EQ(log.pending_events().size(), 1u);
    return log.pending_events().at(0);
  }
};

TEST_F(log_events_cases, workers) {
  EXPECT_EQ(told(incidents::worker_away{"worker:3", "reset", 2}),
            (log_event{log_event_kind::worker_away, "worker:3",
                       "reset; 2 closures that it may still be running wait for it to reconnect"}));
  EXPECT_EQ(told(incidents::worker_returned{"worker:3", 1, 2}).text,
            "reconnected and continues with 1 of 2 closures");
  EXPECT_EQ(told(incidents::worker_lost{"worker:3", "reset"}),
            (log_event{log_event_kind::worker_lost, "worker:3", "reset"}));
  EXPECT_EQ(told(incidents::worker_given_up{"worker:3", false, 30s, "left", 1}).text,
            "has been disconnected for 30 s and is given up (left); 1 closure waited for it");
  EXPECT_EQ(told(incidents::task_cordoned{"worker:3", false}).kind,
            log_event_kind::task_uncordoned);
}

TEST_F(log_events_cases, builders) {
  incidents::builder_quarantined lost{per_worker_id{1}, "model", 3, "worker:2", "killed", 1s};
  EXPECT_EQ(told(lost),
            (log_event{log_event_kind::builder_quarantined, "pw_0000000000000001",
                       "the builder of per-worker value 'model' has lost 3 workers in "
                       "a row; the last was worker:2 (killed). The value will be built again "
                       "after 1000 ms"}));
  lost.fails = true;
  EXPECT_TRUE(told(lost).text.ends_with("; until then, calls that need it fail"));
  EXPECT_EQ(name(log_event_kind::builder_quarantined), "builder_quarantined");
}

TEST_F(log_events_cases, closures) {
  EXPECT_EQ(
      told(incidents::closure_exclusive{one, "f", 3, "worker:9"}),
      (log_event{
          log_event_kind::closure_exclusive, "cl_0000000000000001",
          "f has lost 3 workers; the last was worker:9. From now on, the closure runs alone on "
          "its worker"}));
  EXPECT_EQ(
      told(incidents::no_progress{
          10s, 2, 3, {{one, "f", "worker:0", t0 - 11s}, {two, "g", "worker:1", t0 - 1s}}}),
      (log_event{
          log_event_kind::no_progress, "closures",
          "no closure has finished for 10 s: 2 closures are running, 3 are queued; the oldest: "
          "cl_0000000000000001 (f) on worker:0 for 11 s, cl_0000000000000002 (g) on "
          "worker:1 for 1000 ms"}));
  EXPECT_EQ(told(incidents::closure_runs_again{one, two, release_reason::bytes, 5s}).text,
            "the value of cl_0000000000000001 was released 5 s ago: values used more memory than "
            "--value-bytes-max (" +
                std::to_string(limits.value_bytes_max) +
                " bytes); a server with --spill-dir would have kept it on disk; it is still needed "
                "and is being recomputed by "
                "cl_0000000000000002");
  EXPECT_EQ(told(incidents::dependency_reported{"ps:1", "worker:0", 1, 3, 90s, "no answer"}).text,
            "reported by worker:0, 1 of 3 times within 90 s: no answer");
}

TEST_F(log_events_cases, released_values_are_logged_once_a_minute) {
  log.fold(dropped(one, release_reason::age, true), t0);
  EXPECT_TRUE(log.pending_events().empty());
  log.fold(dropped(one, release_reason::unreadable), t0);
  EXPECT_EQ(log.pending_events(),
            (std::vector{log_event{
                log_event_kind::values_dropped, "values",
                "the value of cl_0000000000000001 was released 0 s ago: it could not be read back "
                "from --spill-dir; see the server log for the reason; further releases within the "
                "next minute are "
                "not logged"}}));
  log.fold(dropped(two, release_reason::unreadable), t0 + 59s);
  EXPECT_TRUE(log.pending_events().empty());
  log.fold(dropped(two, release_reason::unreadable), t0 + 60s);
  EXPECT_EQ(log.pending_events().size(), 1u);
}

TEST_F(log_events_cases, first_failures_of_each_minute_are_logged_and_the_rest_counted) {
  incidents::session_failed const failed{session_id{1}, true, "train", "ValueError",
                                         "broken",      1,    2};
  auto const many = [&](std::size_t n) { return of(std::vector<incident>(n, failed)); };
  log.fold(many(log_event_pace::singly + 7), t0);
  EXPECT_EQ(log.pending_events().size(), log_event_pace::singly);
  log.fold(many(1), t0 + log_event_pace::period);
  ASSERT_EQ(log.pending_events().size(), 1u);
  EXPECT_EQ(log.pending_events()[0].text,
            "train failed: ValueError: broken (1 of 2 closures failed); 7 earlier failures are not "
            "listed");
  log.fold({}, t0);
  EXPECT_TRUE(log.pending_events().empty());
  EXPECT_EQ(log.invalid(), "");
}

TEST_F(log_events_cases, objects_that_are_lost) {
  objects::objects_lost lost{"ps", 1, 2, {"weights", "Counter"}, "left"};
  EXPECT_EQ(muster::history::told(lost),
            (log_event{log_event_kind::objects_lost, "ps:1",
                       "2 objects on it are lost (weights, Counter): left"}));
  lost.count = 9;
  EXPECT_EQ(muster::history::told(lost).text,
            "9 objects on it are lost (weights, Counter, …): left");
  EXPECT_EQ(muster::history::told(objects::objects_lost{"ps", 1, 1, {}, "left"}).text,
            "1 object on it is lost: left");
  EXPECT_EQ(name(log_event_kind::objects_lost), "objects_lost");
}

TEST_F(log_events_cases, severities) {
  using coordination::severity;
  EXPECT_EQ(severity_of(log_event_kind::worker_returned), severity::info);
  EXPECT_EQ(severity_of(log_event_kind::worker_lost), severity::warning);
  EXPECT_EQ(severity_of(log_event_kind::program_failed), severity::error);
}

TEST(log_event_pace, logs_a_few_events_a_minute_and_counts_the_others) {
  log_event_pace p;
  for (std::uint32_t i = 0; i < log_event_pace::singly; ++i) EXPECT_TRUE(p.may_log(t0));
  EXPECT_EQ(p.take_suppressed_count(), 0u);
  EXPECT_FALSE(p.may_log(t0 + 59s));
  EXPECT_FALSE(p.may_log(t0 + 59s));
  EXPECT_TRUE(p.may_log(t0 + 60s));
  EXPECT_EQ(p.take_suppressed_count(), 2u);
  EXPECT_EQ(p.take_suppressed_count(), 0u);
  EXPECT_EQ(p.invalid(), "");
}

}  // namespace
}  // namespace muster::history
