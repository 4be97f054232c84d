#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

class clusters : public web_fixture {
 protected:
  void SetUp() override { start(); }
};

TEST_F(clusters, default_cluster_exists) {
  add_worker(worker::habit::hold);
  auto const all = get_json("/api/v1/clusters");
  EXPECT_EQ(text_at(all, "/clusters/0/name"), "default");
  auto const one = get_json("/api/v1/clusters/default");
  EXPECT_EQ(number_at(one, "/tasks/connected"), 1);
  EXPECT_EQ(number_at(one, "/worker_heartbeat_timeout_ms"), 15000);
  for (auto const* path : {"/api/v1/clusters/other", "/api/v1/clusters/other/tasks",
                           "/api/v1/clusters/other/tasks/worker/0"})
    EXPECT_EQ(get(path).status, 404u) << path;
}

TEST_F(clusters, tasks_are_listed_in_pages_and_by_filter) {
  for (int i = 0; i < 5; ++i) add_worker(worker::habit::hold, i);
  workers_[1]->lose("tripped");
  std::string const path = "/api/v1/clusters/default/tasks";
  auto const first = get_json(path + "?limit=3");
  EXPECT_EQ(first.at("tasks").as_array().size(), 3u);
  auto const rest = get_json(path + "?limit=3&page_token=" + text_at(first, "/next_page_token"));
  EXPECT_EQ(rest.at("tasks").as_array().size(), 2u);
  auto const lost = get_json(path + "?state=ERROR");
  ASSERT_EQ(lost.at("tasks").as_array().size(), 1u);
  EXPECT_EQ(number_at(lost, "/tasks/0/index"), 1);
  EXPECT_NE(text_at(lost, "/tasks/0/error").find("tripped"), std::string::npos);
  EXPECT_EQ(get_json(path + "?job=ps").at("tasks").as_array().size(), 0u);
  EXPECT_EQ(get(path + "?state=GONE").status, 400u);
}

TEST_F(clusters, task_is_shown_with_its_details) {
  add_worker(worker::habit::hold, 7);
  auto const t = get_json("/api/v1/clusters/default/tasks/worker/7");
  EXPECT_EQ(text_at(t, "/state"), "CONNECTED");
  EXPECT_EQ(text_at(t, "/host"), "host-a");
  EXPECT_EQ(text_at(t, "/incarnation").size(), 16u);
  EXPECT_EQ(number_at(t, "/slots"), 4);
  EXPECT_GE(number_at(t, "/heartbeat_age_ms"), 0);
  EXPECT_EQ(t.at("functions").as_array().size(), 2u);
  for (auto const* index : {"8", "-1", "x", "99999999999999999999"})
    EXPECT_EQ(get(std::string("/api/v1/clusters/default/tasks/worker/") + index).status, 404u);
}

TEST_F(clusters, task_can_be_drained) {
  add_worker(worker::habit::hold, 0);
  auto const t = post_json("/api/v1/clusters/default/tasks/worker/0/drain", "");
  EXPECT_TRUE(t.at("draining").as_bool());
  EXPECT_EQ(post("/api/v1/clusters/default/tasks/worker/9/drain").status, 404u);
}

TEST_F(clusters, functions_are_listed_in_pages) {
  add_worker(worker::habit::hold);
  submit(3);
  auto const all = get_json("/api/v1/functions");
  ASSERT_EQ(all.at("functions").as_array().size(), 2u);
  EXPECT_EQ(text_at(all, "/functions/0/name"), "muster.echo");
  EXPECT_EQ(number_at(all, "/functions/0/workers"), 1);
  auto const first = get_json("/api/v1/functions?limit=1");
  auto const next = text_at(first, "/next_page_token");
  EXPECT_EQ(text_at(get_json("/api/v1/functions?page_token=" + next), "/functions/0/name"),
            "muster.fail");
}

}  // namespace
}  // namespace muster::web::test
