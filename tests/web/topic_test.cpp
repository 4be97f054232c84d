#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/support/temporary_directory.hpp"
#include "web/live/agents_topic.hpp"
#include "web/live/counters_topic.hpp"
#include "web/live/jobs_topic.hpp"
#include "web/live/subscriber.hpp"
#include "web/live/tasks_topic.hpp"

namespace muster::web {
namespace topic_cases {

namespace json = boost::json;
using namespace std::chrono_literals;

core::time_point const start{std::chrono::microseconds(1'795'244'400'000'000)};

core::task_view task(std::uint32_t row, core::time_point seen = start) {
  core::task_view t;
  t.row = row;
  t.job = "worker";
  t.index = row;
  t.last_seen = seen;
  t.since = start;
  t.slots = 4;
  return t;
}

core::job_view job(std::uint64_t id, std::uint64_t queued = 1) {
  core::job_view j;
  j.id = core::session_id{id};
  j.counts.queued = queued;
  j.created = start;
  return j;
}

json::value parse(shared_text const& t) {
  return t ? json::parse(*t) : json::value();
}

json::array const& rows(json::value const& v) {
  return v.at("rows").at("i").as_array();
}

TEST(tasks_topic, delta_has_changed_and_removed_rows) {
  tasks_topic topic;
  topic.update({task(1), task(2), task(3)}, start, 5s, true);
  auto second = task(2);
  second.running = 1;
  topic.update({task(1), second}, start + 1s, 5s, true);
  auto const d = parse(topic.delta_for(1, {}));
  EXPECT_EQ(d.at("t"), "d");
  EXPECT_EQ(d.at("from"), 1);
  EXPECT_EQ(d.at("seq"), 2);
  EXPECT_EQ(rows(d), (json::array{2}));
  EXPECT_EQ(d.at("gone"), (json::array{3}));
  EXPECT_EQ(rows(parse(topic.snapshot())), (json::array{1, 2}));
}

TEST(tasks_topic, row_shows_that_its_task_is_cordoned) {
  tasks_topic topic;
  topic.update({task(1), task(2)}, start, 5s, true);
  EXPECT_EQ(parse(topic.snapshot()).at("rows").at("cordoned"), (json::array{0, 0}));
  auto second = task(2);
  second.cordoned = true;
  topic.update({task(1), second}, start, 5s, true);
  auto const d = parse(topic.delta_for(1, {}));
  EXPECT_EQ(rows(d), (json::array{2}));
  EXPECT_EQ(d.at("rows").at("cordoned"), (json::array{1}));
}

TEST(tasks_topic, heartbeat_is_sent_only_to_clients_that_watch_the_row) {
  tasks_topic topic;
  topic.update({task(1), task(2)}, start, 5s, true);
  topic.update({task(1, start + 1s), task(2, start + 1s)}, start + 1s, 5s, true);
  EXPECT_FALSE(topic.delta_for(1, {}));
  std::uint32_t const watched[] = {2, 9};
  auto const d = parse(topic.delta_for(1, watched));
  EXPECT_EQ(rows(d), (json::array{2}));
  EXPECT_EQ(d.at("rows").at("seen").at(0), core::to_unix_ms(start + 1s));
  EXPECT_FALSE(topic.delta_for(2, watched));
}

TEST(tasks_topic, row_is_sent_again_when_its_age_passes_a_threshold) {
  tasks_topic topic;
  topic.update({task(1)}, start, 5s, true);
  int told = 0;
  for (int s = 1; s <= 60; ++s) {
    topic.update({task(1)}, start + std::chrono::seconds(s), 5s, true);
    if (topic.delta_for(topic.seq() - 1, {})) ++told;
  }
  EXPECT_EQ(told, 3);  // past 5 s, 12.5 s and 50 s
}

TEST(tasks_topic, clients_at_the_same_sequence_number_share_one_message) {
  tasks_topic topic;
  topic.update({task(1)}, start, 5s, true);
  topic.update({task(1), task(2)}, start, 5s, true);
  auto const a = topic.delta_for(1, {}), b = topic.delta_for(1, {});
  EXPECT_EQ(a.get(), b.get());
  EXPECT_EQ(topic.snapshot().get(), topic.snapshot().get());
  EXPECT_EQ(topic.serialised(), 2u);
}

TEST(tasks_topic, row_missing_from_two_paged_updates_is_removed) {
  tasks_topic topic;
  topic.update({task(1), task(2)}, start, 5s, false);
  topic.update({task(1)}, start, 5s, false);
  EXPECT_FALSE(topic.delta_for(1, {}));
  topic.update({task(1)}, start, 5s, false);
  EXPECT_EQ(parse(topic.delta_for(1, {})).at("gone"), (json::array{2}));
}

TEST(tasks_topic, client_behind_the_kept_tombstones_needs_a_snapshot) {
  tasks_topic topic;
  std::vector<core::task_view> many;
  for (std::uint32_t i = 0; i < 5000; ++i) many.push_back(task(i));
  topic.update(many, start, 5s, true);
  auto const before = topic.seq();
  topic.update({}, start, 5s, true);
  EXPECT_FALSE(topic.can_serve(before));
  EXPECT_TRUE(topic.can_serve(topic.seq()));
  EXPECT_FALSE(topic.can_serve(topic.seq() + 1));
}

TEST(tasks_topic, snapshot_plus_deltas_equals_a_later_snapshot) {
  tasks_topic topic;
  std::uint64_t seed = 7;
  auto const random = [&](std::uint64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
  };
  std::map<std::int64_t, std::int64_t> mine;  // row -> running
  std::uint64_t from = 0;
  std::map<std::uint32_t, core::task_view> now;
  for (int round = 0; round < 2000; ++round) {
    auto const row = static_cast<std::uint32_t>(random(30));
    if (random(3) == 0)
      now.erase(row);
    else
      (now[row] = task(row)).running = static_cast<std::uint32_t>(random(5));
    std::vector<core::task_view> all;
    for (auto const& [id, t] : now) all.push_back(t);
    topic.update(all, start, 5s, true);
    if (random(4) != 0) continue;
    auto const text = topic.delta_for(from, {});
    from = topic.seq();
    if (text) {
      auto const d = parse(text);
      for (auto const& id : d.at("gone").as_array()) mine.erase(id.as_int64());
      for (std::size_t i = 0; i < rows(d).size(); ++i)
        mine[rows(d)[i].to_number<std::int64_t>()] =
            d.at("rows").at("running").at(i).to_number<std::int64_t>();
    }
    ASSERT_EQ(mine.size(), now.size()) << round;
    for (auto const& [id, t] : now) ASSERT_EQ(mine.at(id), t.running) << round;
  }
}

agent_row agent(std::uint32_t index, std::string fares, std::string is = {}) {
  if (is.empty()) is = R"({"cluster":"train","job":"worker","devices":4})";
  return {"train/worker", index, std::move(is), std::move(fares)};
}

constexpr auto well = R"({"state":"CONNECTED","waits":[]})";
constexpr auto late = R"({"state":"LATE","late_for":"epoch/7","late_since":5,"waits":[]})";
constexpr auto ill = R"({"state":"ERROR","error":"out of memory","waits":[]})";

TEST(agents_topic, equal_changes_are_sent_as_ranges) {
  agents_topic topic;
  topic.update({agent(0, well), agent(1, well), agent(2, well), agent(3, well)}, 0, start, "");
  topic.update({agent(0, late), agent(1, late), agent(2, ill), agent(3, late)}, 0, start, "");
  auto const d = parse(topic.delta_for(1));
  EXPECT_TRUE(d.at("rows").as_object().empty());
  ASSERT_EQ(d.at("changes").as_array().size(), 2u);
  EXPECT_EQ(json::serialize(d.at_pointer("/changes/0/set")), ill);
  EXPECT_EQ(d.at_pointer("/changes/0/tasks"), (json::array{2, 2}));
  EXPECT_EQ(json::serialize(d.at_pointer("/changes/1/set")), late);
  EXPECT_EQ(d.at_pointer("/changes/1/tasks"), (json::array{0, 1, 3, 3}));
  EXPECT_FALSE(topic.delta_for(2));
}

TEST(agents_topic, registered_task_is_sent_as_a_full_row) {
  agents_topic topic;
  topic.update({agent(0, well), agent(1, well)}, 0, start, "");
  auto const other = R"({"cluster":"train","job":"worker","devices":8})";
  topic.update({agent(0, late, other), agent(2, well)}, 0, start + 2s, R"({"train":{}})");
  auto const d = parse(topic.delta_for(1));
  EXPECT_TRUE(d.at("changes").as_array().empty());
  EXPECT_EQ(d.at("rows").as_object().size(), 2u);
  EXPECT_EQ(d.at_pointer("/rows/train~1worker:0/devices"), 8);
  EXPECT_EQ(d.at_pointer("/rows/train~1worker:0/late_for"), "epoch/7");
  EXPECT_EQ(d.at_pointer("/rows/train~1worker:2/state"), "CONNECTED");
  EXPECT_EQ(d.at("gone"), (json::array{"train/worker:1"}));
  EXPECT_TRUE(d.as_object().contains("ages"));
  EXPECT_EQ(parse(topic.snapshot()).at("rows"), d.at("rows"));
}

// A task that left and returned between two deltas is sent as a full row.
TEST(agents_topic, returned_task_is_sent_as_a_full_row) {
  agents_topic topic;
  topic.update({agent(0, well)}, 0, start, "");
  topic.update({}, 0, start, "");
  topic.update({agent(0, late)}, 0, start, "");
  auto const d = parse(topic.delta_for(1));
  EXPECT_TRUE(d.at("changes").as_array().empty());
  EXPECT_TRUE(d.at("gone").as_array().empty());
  EXPECT_EQ(d.at_pointer("/rows/train~1worker:0/state"), "LATE");
}

// Ages are relative to the `now` of their message. Older ages would make a heartbeat look too
// recent.
TEST(agents_topic, ages_are_those_at_the_time_of_the_message) {
  agents_topic topic;
  topic.update({agent(0, well)}, 0, start, R"({"train":"A"})");
  topic.update({agent(0, ill)}, 0, start + 1s, R"({"train":"-"})");
  EXPECT_EQ(parse(topic.snapshot()).at("ages").at("train"), "-");
  EXPECT_FALSE(parse(topic.delta_for(1)).as_object().contains("ages")) << "not due yet";
  topic.update({agent(0, ill)}, 0, start + 2s, R"({"train":"-"})");
  EXPECT_EQ(parse(topic.delta_for(2)).at("ages").at("train"), "-");
  topic.update({agent(0, ill)}, 0, start + 3s, R"({"train":"C"})");
  EXPECT_FALSE(topic.delta_for(3));
  EXPECT_EQ(parse(topic.delta_for(2)).at("ages").at("train"), "C");
}

// The same age two seconds later means a new heartbeat.
TEST(agents_topic, unchanged_ages_are_sent_again_later) {
  agents_topic topic;
  for (auto const after : {0s, 2s})
    topic.update({agent(0, well)}, 0, start + after, R"({"train":"A"})");
  EXPECT_TRUE(topic.delta_for(1));
}

// 7,000 of 10,000 tasks become late for a barrier: consecutive ones, and at random.
TEST(agents_topic, thousands_of_late_tasks_fit_in_a_small_message) {
  for (bool const scattered : {false, true}) {
    agents_topic topic;
    std::vector<agent_row> before, after;
    for (std::uint32_t i = 0; i < 10'000; ++i) {
      bool const turns = scattered ? i * 2654435761u % 10 < 7 : i >= 3000;
      before.push_back(agent(i, well));
      after.push_back(agent(i, turns ? late : well));
    }
    topic.update(before, 0, start, "");
    topic.update(after, 0, start, "");
    auto const text = topic.delta_for(1);
    EXPECT_LT(text->size(), scattered ? 40'000u : 400u);
  }
}

TEST(jobs_topic, delta_has_changed_jobs_newest_first_and_removed_jobs) {
  jobs_topic topic;
  topic.update({job(3), job(2), job(1)}, start);
  topic.update({job(4), job(3), job(2, 9)}, start);
  auto const d = parse(topic.delta_for(1));
  ASSERT_EQ(d.at("jobs").as_array().size(), 2u);
  EXPECT_EQ(d.at("jobs").at(0).at("id"), "job_0000000000000004");
  EXPECT_EQ(d.at("jobs").at(1).at("queued"), 9);
  EXPECT_EQ(d.at("gone"), (json::array{"job_0000000000000001"}));
  EXPECT_FALSE(topic.delta_for(2));
}

TEST(jobs_topic, job_that_reappears_is_not_removed) {
  jobs_topic topic;
  topic.update({job(2), job(1)}, start);
  topic.update({job(2)}, start);
  topic.update({job(2), job(1)}, start);
  auto const d = parse(topic.delta_for(1));
  EXPECT_TRUE(d.at("gone").as_array().empty());
  EXPECT_EQ(d.at("jobs").as_array().size(), 1u);
}

counters at(core::time_point now, std::uint64_t succeeded, std::uint64_t failed = 0) {
  counters c;
  c.now = now;
  c.overview.closures.succeeded = succeeded;
  c.overview.closures.failed = failed;
  return c;
}

TEST(counters_topic, rates_are_those_of_the_last_second) {
  counters_topic topic(start);
  topic.update(at(start, 0));
  topic.update(at(start + 500ms, 100));
  topic.update(at(start + 1s, 250, 50));
  auto const v = parse(topic.snapshot());
  EXPECT_EQ(v.at("data").at("rates").at("finished"), 300);
  EXPECT_EQ(v.at("data").at("rates").at("failed"), 50);
  EXPECT_EQ(v.at("data").at("uptime_ms"), 1000);
  EXPECT_EQ(v.at("history").at("t").as_array().size(), 2u);
  EXPECT_EQ(v.at("history").at("finished"), (json::array{0, 300}));
}

TEST(counters_topic, delta_has_only_new_points) {
  counters_topic topic(start);
  for (int i = 0; i < 10; ++i) topic.update(at(start + i * 500ms, 0));
  EXPECT_EQ(parse(topic.snapshot()).at("history").at("t").as_array().size(), 5u);
  EXPECT_EQ(parse(topic.delta(topic.seq())).at("history").at("t").as_array().size(), 0u);
  EXPECT_EQ(parse(topic.delta(topic.seq() - 2)).at("history").at("t").as_array().size(), 1u);
}

TEST(counters_topic, five_minutes_are_kept_and_older_clients_need_a_snapshot) {
  counters_topic topic(start);
  for (int i = 0; i < 400; ++i) topic.update(at(start + i * 1s, 0));
  EXPECT_EQ(parse(topic.snapshot()).at("history").at("t").as_array().size(), 300u);
  EXPECT_FALSE(topic.can_serve(50));
  EXPECT_TRUE(topic.can_serve(200));
  EXPECT_FALSE(topic.can_serve(401));
}

TEST(websocket_page, describes_every_topic_and_limit) {
  auto const page = muster::test::read_file(MUSTER_WEBSOCKET_DOC);
  for (auto const t : topic_names)
    EXPECT_NE(page.find("| `" + std::string(name(t)) + "` |"), std::string::npos) << name(t);
  for (auto const* row : {"| `program:prog_…` |", "| `logs:job_…`, `logs:cl_…` |"})
    EXPECT_NE(page.find(row), std::string::npos) << row;
  auto const limit = [&](std::string_view of, std::size_t value) {
    auto const row = "| " + std::string(of) + " | " + std::to_string(value) + " |";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  };
  limit("subscriptions of a connection", websocket_subscriptions_max);
  limit("subscriptions to logs and single programs", websocket_watched_max);
  limit("ids in `rows`", websocket_rows_max);
}

}  // namespace topic_cases
}  // namespace muster::web
