#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <thread>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;

class slow_disk : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "nothing may be loaded before a sanitizer";
#endif
  }
  void serve() {
    c.serve_behind({"/usr/bin/env", "LD_PRELOAD=" SLOW_DISK, "MUSTER_TEST_DISK=" + file()},
                   {"--data-dir", c.file("data").string()});
    c.worker({"--slots", "2"});
  }
  std::string file() const {
    return c.file("disk").string();
  }
  void disk(std::string const& does) {
    c.write("disk", does);
  }

  muster::http_response send(std::string method, std::string const& path, std::string body = {}) {
    muster::http_request r;
    r.method = std::move(method);
    r.url = c.url() + path;
    r.body = std::move(body);
    if (r.method == "POST") r.content_type = "application/json";
    auto const answer = muster::http_client().send(r);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *answer : muster::http_response{};
  }
  json::value job(std::string const& more = {}) {
    auto const r = send("POST", "/api/v1/jobs",
                        "{" + more + R"("closures":[{"function":"muster.echo","args":[1]}]})");
    EXPECT_EQ(r.status, 201u) << r.body;
    return json::parse(r.body);
  }
  static std::string text(json::value const& v, std::string const& at) {
    return std::string(v.at_pointer(at).as_string());
  }
  void ends(json::value const& job) {
    auto const done = send("GET", "/api/v1/jobs/" + text(job, "/id") + "/join?timeout=20s");
    EXPECT_EQ(done.status, 200u) << done.body;
    EXPECT_EQ(text(json::parse(done.body), "/state"), "SUCCEEDED");
  }
  std::vector<std::string> all_about(json::value const& job) {
    auto const id = text(job, "/id"), closure = text(job, "/closures/0/id"),
               value = text(job, "/closures/0/remote_value");
    return {"/api/v1/jobs/" + id,
            "/api/v1/jobs/" + id + "/join?timeout=5s",
            "/api/v1/jobs/" + id + "/results",
            "/api/v1/closures/" + closure,
            "/api/v1/remote_values/" + value,
            "/api/v1/remote_values/" + value + "/value?timeout=5s"};
  }
  std::int64_t waiting() {
    return c.get("/api/v1/overview").at("durable").at("changes_waiting").to_number<std::int64_t>();
  }

  cluster c;
};

std::string const kv = "/api/v1/clusters/default/kv/";

TEST_F(slow_disk, slow_disk_delays_only_requests_that_need_it) {
  serve();
  EXPECT_EQ(send("PUT", kv + "a", "1").status, 201u);
  auto const before = job();
  ends(before);
  disk("wait");
  auto put = std::async(std::launch::async, [&] { return send("PUT", kv + "b", "2"); });
  ASSERT_TRUE(await([&] { return waiting() > 0; }));
  auto get = std::async(std::launch::async, [&] { return send("GET", kv + "b"); });

  EXPECT_EQ(send("GET", kv + "a").body, "1");
  EXPECT_EQ(send("GET", kv + "c").status, 404u);
  for (auto const& path : all_about(before)) EXPECT_EQ(send("GET", path).status, 200u) << path;
  auto const free = job(R"("durable":false,)");
  ends(free);
  for (auto const& path : all_about(free)) EXPECT_EQ(send("GET", path).status, 200u) << path;
  EXPECT_EQ(send("DELETE", "/api/v1/jobs/" + text(free, "/id")).status, 204u);

  EXPECT_EQ(put.wait_for(0s), std::future_status::timeout);
  EXPECT_EQ(get.wait_for(0s), std::future_status::timeout)
      << "it would return a value that is not stored";
  disk("");
  EXPECT_EQ(put.get().status, 201u);
  EXPECT_EQ(get.get().body, "2");
}

TEST_F(slow_disk, failed_disk_acknowledges_no_refused_change) {
  serve();
  EXPECT_EQ(send("PUT", kv + "a", "1").status, 201u);
  EXPECT_EQ(send("PUT", kv + "b", "1").status, 201u);
  auto const before = job();
  ends(before);
  disk("fail");
  EXPECT_EQ(send("PUT", kv + "a", "2").status, 503u);
  EXPECT_EQ(send("GET", kv + "a").status, 503u);
  EXPECT_EQ(send("GET", kv + "b").body, "1");
  EXPECT_EQ(send("GET", kv + "c").status, 404u);
  for (auto const& path : all_about(before)) EXPECT_EQ(send("GET", path).status, 200u) << path;
  auto const free = job(R"("durable":false,)");
  ends(free);
}

// SHA-256 of 500,000 times the letter b.
std::string const blob =
    "/api/v1/blobs/2efbdf95c3b2b7882377dce20e390965b7712cca6d47020ddb255ece4bc32181";

// Other programs can use up the disk between a check and a write.
TEST_F(slow_disk, disk_filled_during_a_write_resumes_when_space_is_free) {
  serve();
  EXPECT_EQ(send("PUT", kv + "a", "1").status, 201u);
  auto const before = job();
  ends(before);
  disk("full");
  auto put = std::async(std::launch::async, [&] { return send("PUT", kv + "b", "2"); });
  ASSERT_TRUE(await([&] { return waiting() > 0; }));
  EXPECT_TRUE(await([&] { return send("PUT", kv + "c", "3").status == 507; }));
  // The history is written every second. RocksDB retries every five seconds.
  std::this_thread::sleep_for(7s);
  EXPECT_EQ(send("GET", kv + "a").body, "1");
  for (auto const& path : all_about(before)) EXPECT_EQ(send("GET", path).status, 200u) << path;
  ends(job(R"("durable":false,)"));
  EXPECT_EQ(put.wait_for(0s), std::future_status::timeout) << "it is not on the disk";
  disk("");
  EXPECT_EQ(put.get().status, 201u);
  EXPECT_TRUE(await([&] { return send("PUT", kv + "c", "3").status < 300; }));
  ends(job());
}

TEST_F(slow_disk, failed_disk_refuses_keys_jobs_and_blobs) {
  serve();
  EXPECT_EQ(send("PUT", kv + "a", "1").status, 201u);
  disk("broken");
  auto const put = send("PUT", kv + "b", "2");
  EXPECT_EQ(put.status, 503u) << put.body;
  auto const made =
      send("POST", "/api/v1/jobs", R"({"closures":[{"function":"muster.echo","args":[1]}]})");
  EXPECT_EQ(made.status, 503u) << made.body;
  auto const large = send("PUT", blob, std::string(500'000, 'b'));
  EXPECT_EQ(large.status, 503u) << large.body;
  EXPECT_NE(large.body.find(c.file("data").string()), std::string::npos) << large.body;
  EXPECT_EQ(send("GET", kv + "a").body, "1");
  ends(job(R"("durable":false,)"));
  auto const ready = send("GET", "/readyz");
  EXPECT_EQ(ready.status, 200u) << "reads are answered";
  EXPECT_NE(ready.body.find("journal-fails: "), std::string::npos) << ready.body;
}

}  // namespace
}  // namespace muster::e2e
