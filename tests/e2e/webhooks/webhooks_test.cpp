#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/e2e/cluster.hpp"
#include "tests/support/http_service.hpp"

namespace muster::e2e {
namespace {

TEST(webhooks, failed_job_is_posted_with_a_link) {
  test::http_service hook([](test::http_seen const&) { return test::http_reply{}; });
  cluster c;
  c.serve({"--webhook", hook.url() + "/hook", "--page-url", "https://muster.example"});
  c.worker();
  c.post("/api/v1/jobs",
         R"({"name":"nightly","closures":[{"function":"muster.fail","args":["no such column"]}]})");
  ASSERT_TRUE(await([&] { return !hook.seen().empty(); }));
  auto const body = boost::json::parse(hook.seen().at(0).body);
  auto const& first = body.at("attachments").as_array().at(0);
  auto const title = std::string(first.at("title").as_string());
  EXPECT_NE(title.find("nightly"), std::string::npos) << title;
  EXPECT_TRUE(first.at("title_link").as_string().starts_with("https://muster.example/"));
  EXPECT_EQ(std::string(body.at("text").as_string()), "Muster: " + title);
  EXPECT_TRUE(await([&] {
    return c.text("/metrics").find("muster_webhook_posts_total{result=\"posted\"} 1") !=
           std::string::npos;
  }));
}

TEST(webhooks, unresponsive_webhook_causes_an_event_without_its_path) {
  cluster c;
  c.serve({"--webhook", "http://127.0.0.1:1/T0/secret"});
  c.worker();
  c.post("/api/v1/jobs", R"({"closures":[{"function":"muster.fail","args":["x"]}]})");
  ASSERT_TRUE(await(
      [&] { return c.text("/api/v1/events").find("webhook_failed") != std::string::npos; }, 60s));
  EXPECT_EQ(c.text("/api/v1/events").find("secret"), std::string::npos);
}

TEST(webhooks, invalid_flags_are_named) {
  cluster c;
  auto const f = c.run({"serve", "--webhook", "http://hooks.example/T0/secret"});
  EXPECT_EQ(f.status, 2);
  EXPECT_NE(f.err.find("--webhook http://hooks.example/…: alerts would cross"), std::string::npos)
      << f.err;
}

}  // namespace
}  // namespace muster::e2e
