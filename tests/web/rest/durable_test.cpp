#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

class durable_server : public web_fixture {
 protected:
  void SetUp() override {
    core::coordination::limits limits;
    limits.journalled = limits.outlives = true;
    start({}, {}, 2, limits);
  }
};

TEST_F(durable_server, overview_shows_the_data_directory_and_its_progress) {
  EXPECT_EQ(send("PUT", "/api/v1/clusters/default/kv/a", "1").status, 201u);
  auto const d = get_json("/api/v1/overview").at("durable");
  EXPECT_EQ(text_at(d, "/data_dir"), "/data");
  EXPECT_EQ(number_at(d, "/epoch"), 3);
  EXPECT_EQ(number_at(d, "/changes"), 2) << "the cluster and the key";
  EXPECT_EQ(number_at(d, "/changes_waiting"), 0);
  EXPECT_EQ(number_at(d, "/disk_bytes"), 4'096);
  EXPECT_FALSE(d.as_object().contains("failure"));
  EXPECT_FALSE(d.as_object().contains("full"));
  EXPECT_EQ(get("/readyz").body, "ok\n");
  auto const metrics = get("/metrics").body;
  for (auto const* line : {"\nmuster_journal_batches_total 2\n", "\nmuster_journal_failed 0\n",
                           "\nmuster_journal_epoch 3\n", "\nmuster_journal_disk_bytes 4096\n"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line;
}

TEST_F(durable_server, declares_and_deletes_clusters_once_written) {
  post_json("/api/v1/clusters", R"({"name":"a","jobs":{"worker":1},"error_delivery":"poll"})", 201);
  EXPECT_EQ(text_at(get_json("/api/v1/clusters/a"), "/error_delivery"), "poll");
  EXPECT_EQ(text_at(get_json("/api/v1/clusters/default"), "/error_delivery"), "auto");
  EXPECT_EQ(send("DELETE", "/api/v1/clusters/a").status, 204u);
  post_json("/api/v1/clusters", R"({"name":"a","error_delivery":"pigeon"})", 400);
  post_json("/api/v1/clusters", R"({"name":"a","agents":"shouted"})", 400);
  EXPECT_EQ(text_at(get_json("/api/v1/clusters/default"), "/agents"), "plaintext");
}

TEST_F(durable_server, keeps_jobs_by_default) {
  add_worker(worker::habit::echo);
  auto const kept =
      post_json("/api/v1/jobs", R"({"closures":[{"function":"muster.echo","args":[1]}]})", 201);
  auto const job = "/api/v1/jobs/" + text_at(kept, "/id");
  EXPECT_EQ(text_at(get_json(job + "/join?timeout=10s"), "/state"), "SUCCEEDED");
  EXPECT_TRUE(get_json(job).at("durable").as_bool());
  auto const not_kept =
      post_json("/api/v1/jobs",
                R"({"durable":false,"closures":[{"function":"muster.echo","args":[1]}]})", 201);
  EXPECT_FALSE(
      get_json("/api/v1/jobs/" + text_at(not_kept, "/id")).as_object().contains("durable"));
}

TEST_F(durable_server, accepts_only_volatile_jobs_with_a_failing_disk) {
  add_worker(worker::habit::echo);
  auto const body = R"({"open":true,"closures":[{"function":"muster.echo","args":[1]}]})";
  auto const made = post_json("/api/v1/jobs", body, 201);
  auto const job = "/api/v1/jobs/" + text_at(made, "/id");
  auto const value =
      "/api/v1/remote_values/" + text_at(made, "/closures/0/remote_value") + "/value";
  EXPECT_EQ(get(value + "?timeout=10s").status, 200u);
  core_engine().fail_disk("no space left on device");
  auto const more = R"([{"function":"muster.echo","args":[2]}])";
  for (auto const& refused : {post("/api/v1/jobs", body), post(job + "/closures", more)}) {
    EXPECT_EQ(refused.status, 503u) << refused.body;
    EXPECT_NE(refused.body.find("no space left on device"), std::string::npos) << refused.body;
  }
  post_json("/api/v1/jobs",
            R"({"durable":false,"closures":[{"function":"muster.echo","args":[1]}]})", 201);
  EXPECT_EQ(get(job).status, 200u);
  EXPECT_EQ(get(value).status, 200u);
  // The cancellation is only in memory, and was not acknowledged.
  EXPECT_EQ(send("POST", job + "/cancel").status, 503u);
  EXPECT_EQ(get(job).status, 503u);
  EXPECT_NE(get(job).body.find("no space left on device"), std::string::npos);
}

TEST_F(durable_server, accepts_no_new_durable_work_with_a_full_disk) {
  add_worker(worker::habit::fail);
  auto const body = R"({"closures":[{"function":"muster.echo","args":[1]}]})";
  auto const failed = "/api/v1/jobs/" + text_at(post_json("/api/v1/jobs", body, 201), "/id");
  EXPECT_EQ(text_at(get_json(failed + "/join?timeout=10s"), "/state"), "FAILED");
  auto const open =
      "/api/v1/jobs/" +
      text_at(post_json("/api/v1/jobs", R"({"open":true,"closures":[]})", 201), "/id");
  core_engine().fill_disk();
  auto const more = R"([{"function":"muster.echo","args":[2]}])";
  for (auto const& refused :
       {post("/api/v1/jobs", body), post(open + "/closures", more), post(failed + "/retry", "{}"),
        send("PUT", "/api/v1/clusters/default/kv/b", "1")}) {
    EXPECT_EQ(refused.status, 507u) << refused.body;
    EXPECT_NE(refused.body.find("no space left in /data: 12 MiB are free"), std::string::npos)
        << refused.body;
    EXPECT_EQ(refused.header("Retry-After"), "1");
  }
  auto const blob =
      "/api/v1/blobs/2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
  EXPECT_EQ(send("PUT", blob, "x").status, 507u);
  EXPECT_EQ(get(failed).status, 200u);
  EXPECT_EQ(send("POST", open + "/seal").status, 200u) << "accepted jobs continue";
  auto const durable = get_json("/api/v1/overview").at("durable");
  EXPECT_EQ(text_at(durable, "/full"), "no space left in /data: 12 MiB are free");
  EXPECT_GT(number_at(durable, "/full_since_ms"), 0);
  EXPECT_EQ(number_at(durable, "/free_bytes"), 12);
  EXPECT_EQ(get("/readyz").body, "ok\ndisk-full: no space left in /data: 12 MiB are free\n");
  auto const metrics = get("/metrics").body;
  for (auto const* line :
       {"\nmuster_journal_disk_full 1\n", "\nmuster_journal_disk_free_bytes 12\n"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line;
  std::vector<std::string> rules;
  auto const attention = get_json("/api/v1/attention");
  for (auto const& i : attention.at("items").as_array()) rules.push_back(text_at(i, "/rule"));
  EXPECT_NE(std::find(rules.begin(), rules.end(), "disk-full"), rules.end());
}

TEST_F(durable_server, reports_a_failing_disk_and_refuses_durable_writes) {
  EXPECT_EQ(send("PUT", "/api/v1/clusters/default/kv/a", "1").status, 201u);
  core_engine().fail_disk("no space left on device");
  auto const put = send("PUT", "/api/v1/clusters/default/kv/b", "1");
  EXPECT_EQ(put.status, 503u);
  EXPECT_NE(put.body.find("no space left on device"), std::string::npos) << put.body;
  EXPECT_EQ(post("/api/v1/clusters", R"({"name":"b"})").status, 503u);
  EXPECT_EQ(get("/api/v1/clusters/default/kv/a").status, 200u) << "stored records are listed";
  EXPECT_EQ(get("/api/v1/clusters/default/kv/b").status, 503u) << "refused records are not listed";
  EXPECT_EQ(get("/api/v1/clusters/default/kv/c").status, 404u);
  auto const d = get_json("/api/v1/overview").at("durable");
  EXPECT_NE(text_at(d, "/failure").find("no space left"), std::string::npos);
  EXPECT_GT(number_at(d, "/failed_since_ms"), 0);
  EXPECT_GT(number_at(d, "/changes_waiting"), 0);
  EXPECT_NE(get("/metrics").body.find("\nmuster_journal_failed 1\n"), std::string::npos);
  auto const items = get_json("/api/v1/attention").at("items").as_array();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(text_at(items[0], "/rule"), "journal-fails");
}

}  // namespace
}  // namespace muster::web::test

namespace muster::web::test {
namespace {

class server_without_a_disk : public web_fixture {
 protected:
  void SetUp() override { start(); }
};

TEST_F(server_without_a_disk, durable_job_is_refused) {
  auto const refused =
      post_json("/api/v1/jobs",
                R"({"durable":true,"closures":[{"function":"muster.echo","args":[1]}]})", 422);
  EXPECT_EQ(text_at(refused, "/field"), "durable");
  EXPECT_EQ(text_at(refused, "/code"), "FAILED_PRECONDITION");
}

}  // namespace
}  // namespace muster::web::test
