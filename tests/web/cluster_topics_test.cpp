#include "tests/web/agents.hpp"
#include "tests/web/fixture.hpp"
#include "tests/web/socket.hpp"
#include "web/live/rows_topic.hpp"

namespace muster::web::test {
namespace {

using namespace std::chrono_literals;

TEST(rows_topic, sends_only_rows_that_differ) {
  rows_topic t(topic_name::barriers);
  core::time_point const now{std::chrono::hours(1)};
  t.update({{"a", "{\"n\":1}"}, {"b", "{}"}}, 0, now);
  auto const snap = json::parse(*t.snapshot());
  EXPECT_EQ(json::serialize(snap.at("rows")), R"({"a":{"n":1},"b":{}})");
  t.update({{"a", "{\"n\":1}"}, {"b", "{}"}}, 0, now);
  EXPECT_FALSE(t.delta_for(1));
  t.update({{"a", "{\"n\":2}"}}, 7, now);
  auto const delta = json::parse(*t.delta_for(2));
  EXPECT_EQ(json::serialize(delta.at("rows")), R"({"a":{"n":2}})");
  EXPECT_EQ(json::serialize(delta.at("gone")), R"(["b"])");
  EXPECT_EQ(delta.at("more"), 7);
  t.update({{"a", "{\"n\":2}"}, {"b", "{}"}}, 7, now);
  EXPECT_EQ(json::serialize(json::parse(*t.delta_for(2)).at("gone")), "[]");
}

class cluster_topics : public web_fixture {
 protected:
  void SetUp() override {
    web_options o;
    o.websocket_tick = 20ms;
    start(o, {}, 3);
  }
  static std::string sub(std::string const& topic) {
    return R"({"t":"sub","topic":")" + topic + R"("})";
  }
};

TEST_F(cluster_topics, barrier_names_missing_tasks_until_it_ends) {
  agents a(core_engine());
  a.join(3);
  socket s(port());
  s.receive("hello");
  s.send(sub("barriers"));
  s.receive("snap", "barriers");
  a.enter(0, "step/1");
  auto const delta = s.receive("d", "barriers");
  auto const& row = delta.at("rows").at("default/step/1");
  EXPECT_EQ(row.at("arrived"), 1);
  EXPECT_EQ(row.at("of"), 3);
  EXPECT_EQ(text_at(row, "/missing/0/task"), "/job:worker/task:1");
  EXPECT_EQ(text_at(row, "/missing/0/address"), "10.0.0.2:4711");
  a.enter(1, "step/1");
  a.enter(2, "step/1");
  for (;;) {
    auto const next = s.receive("d", "barriers");
    ASSERT_TRUE(next.is_object());
    auto const* ended = next.at("rows").as_object().if_contains("default/step/1");
    if (!ended || text_at(*ended, "/state") != "PASSED") continue;
    EXPECT_TRUE(ended->at("missing").as_array().empty());
    break;
  }
}

TEST_F(cluster_topics, agents_clusters_and_events_are_published) {
  socket s(port());
  s.receive("hello");
  for (auto const* topic : {"clusters", "agents", "events"}) s.send(sub(topic));
  auto const clusters = s.receive("snap", "clusters");
  EXPECT_EQ(clusters.at("rows").at("default").at("agents").at("missing"), 3);
  auto const rows = s.receive("snap", "agents");
  EXPECT_EQ(rows.at("rows").as_object().size(), 3u);
  EXPECT_EQ(text_at(rows, "/rows/default~1worker:0/state"), "MISSING");
  EXPECT_TRUE(s.receive("snap", "events").at("rows").as_object().empty());
  agents a(core_engine());
  a.join(3);
  json::value delta;
  do {
    delta = s.receive("d", "agents");
    ASSERT_TRUE(delta.is_object());
  } while (!delta.at("rows").as_object().contains("default/worker:2"));
  EXPECT_EQ(text_at(delta, "/rows/default~1worker:2/address"), "10.0.0.3:4711");
  socket later(port());
  later.receive("hello");
  later.send(sub("events"));
  EXPECT_FALSE(later.receive("snap", "events").at("rows").as_object().empty());
}

TEST_F(cluster_topics, cluster_shows_whether_workers_have_connected) {
  post_json("/api/v1/clusters", R"({"name":"train"})", 201);
  socket s(port());
  s.receive("hello");
  s.send(sub("clusters"));
  auto const snap = s.receive("snap", "clusters");
  for (auto const* name : {"default", "train"})
    EXPECT_EQ(snap.at("rows").at(name).at("has_workers"), false) << name;
  add_worker(worker::habit::hold);
  auto const delta = s.receive("d", "clusters");
  EXPECT_EQ(delta.at("rows").at("default").at("has_workers"), true);
  EXPECT_FALSE(delta.at("rows").as_object().contains("train"))
      << "the worker is of another cluster";
}

TEST_F(cluster_topics, heartbeats_are_a_column_of_ages_without_rows) {
  socket s(port());
  s.receive("hello");
  s.send(sub("agents"));
  EXPECT_EQ(text_at(s.receive("snap", "agents"), "/ages/default/jobs/worker"), "---");
  agents a(core_engine());
  a.join(3);
  json::value delta;
  do {
    delta = s.receive("d", "agents");
    ASSERT_TRUE(delta.is_object());
  } while (!delta.as_object().contains("ages"));
  auto const ages = text_at(delta, "/ages/default/jobs/worker");
  EXPECT_EQ(ages.size(), 3u);
  EXPECT_EQ(ages.find('-'), std::string::npos) << ages;
  EXPECT_GT(delta.at_pointer("/ages/default/unit_ms").to_number<int>(), 0);
  a.beat(1);
  do {
    delta = s.receive("d", "agents");
    ASSERT_TRUE(delta.is_object());
  } while (!delta.as_object().contains("ages"));
  EXPECT_TRUE(delta.at("rows").as_object().empty()) << json::serialize(delta);
}

TEST_F(cluster_topics, last_heartbeat_of_a_failed_task_is_kept) {
  agents a(core_engine());
  a.join(3);
  a.beat(2);
  a.report(2, "out of memory");
  auto const seen = get_json("/api/v1/clusters/default/tasks/worker/2").at("last_seen_ms");
  socket s(port());
  s.receive("hello");
  s.send(sub("agents"));
  auto const snap = s.receive("snap", "agents");
  EXPECT_EQ(snap.at("rows").at("default/worker:2").at("seen"), seen);
  EXPECT_EQ(text_at(snap, "/ages/default/jobs/worker").at(2), '-') << "an age would move it";
}

// The first client received the heartbeat before the task failed. The second subscribes right
// afterwards.
TEST_F(cluster_topics, new_subscriber_gets_no_outdated_age) {
  agents a(core_engine());
  a.join(3);
  socket first(port());
  first.receive("hello");
  first.send(sub("agents"));
  auto const before = first.receive("snap", "agents");
  EXPECT_NE(text_at(before, "/ages/default/jobs/worker").at(2), '-');
  a.report(2, "out of memory");
  auto const seen = get_json("/api/v1/clusters/default/tasks/worker/2").at("last_seen_ms");
  json::value delta;
  do {
    delta = first.receive("d", "agents");
    ASSERT_TRUE(delta.is_object());
  } while (!delta.at("rows").as_object().contains("default/worker:2"));
  EXPECT_EQ(delta.at("rows").at("default/worker:2").at("seen"), seen);
  socket second(port());
  second.receive("hello");
  second.send(sub("agents"));
  auto const snap = second.receive("snap", "agents");
  EXPECT_EQ(snap.at("rows").at("default/worker:2").at("seen"), seen);
  EXPECT_EQ(text_at(snap, "/ages/default/jobs/worker").at(2), '-') << "an age would move it";
}

TEST_F(cluster_topics, alerts_appear_and_disappear) {
  socket s(port());
  s.receive("hello");
  s.send(sub("attention"));
  EXPECT_TRUE(s.receive("snap", "attention").at("rows").as_object().empty());
  auto const job =
      text_at(post_json("/api/v1/jobs", R"({"closures":[{"function":"nobody.has"}]})", 201), "/id");
  auto const delta = s.receive("d", "attention");
  ASSERT_TRUE(delta.at("rows").as_object().contains("no-worker ")) << json::serialize(delta);
  EXPECT_EQ(text_at(delta, "/rows/no-worker /title"),
            "1 closure queued, but no worker is connected");
  auto const items = get_json("/api/v1/attention").at("items").as_array();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(text_at(items[0], "/rule"), "no-worker");
  EXPECT_GT(items[0].at("since_ms").to_number<std::int64_t>(), 0);
  EXPECT_TRUE(text_at(items[0], "/command").starts_with("muster worker --server HOST:"));
  EXPECT_EQ(get("/api/v1/attention?cluster=nope").status, 404u);
  EXPECT_EQ(get("/api/v1/attention?nonsense=1").status, 400u);
  EXPECT_EQ(post("/api/v1/jobs/" + job + "/cancel").status, 200u);
  auto const over = s.receive("d", "attention");
  EXPECT_EQ(over.at("gone"), (json::array{"no-worker "}));
}

}  // namespace
}  // namespace muster::web::test
