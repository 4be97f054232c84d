#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <mutex>

#include "app/webhooks/webhook_sender.hpp"
#include "tests/e2e/process.hpp"
#include "tests/support/http_service.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;
using e2e::await;
using test::http_reply;
using test::http_seen;
using test::http_service;

struct webhook_sender_test : testing::Test {
  std::atomic<unsigned> status = 200;
  std::atomic<int> asked = 0;
  http_service service{[this](http_seen const&) {
    ++asked;
    return http_reply{.status = status, .headers = {{"Location", "http://127.0.0.1:1/"}}};
  }};
  std::mutex mutex;
  std::vector<std::pair<bool, std::string>> told;
  test::temporary_directory directory;

  webhook_settings to(std::string const& path) const {
    webhook_settings s;
    s.urls = {service.url() + path};
    return s;
  }
  webhook_sender::tell telling() {
    return [this](bool works, std::string text) {
      std::lock_guard const lock(mutex);
      told.emplace_back(works, std::move(text));
    };
  }
  std::vector<std::pair<bool, std::string>> said() {
    std::lock_guard const lock(mutex);
    return told;
  }
};

TEST_F(webhook_sender_test, posts_json_signed_with_the_secret_of_the_file) {
  auto s = to("/T0/secret");
  s.secret_file = directory / "secret";
  std::ofstream(s.secret_file) << "0123456789abcdef\n";
  webhook_sender sender(s, telling());
  ASSERT_TRUE(sender.start().ok());
  sender.send(R"({"text":"a"})");
  ASSERT_TRUE(await([&] { return sender.counts().posted == 1; }));
  auto const seen = service.seen().at(0);
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path(), "/T0/secret");
  EXPECT_EQ(seen.body, R"({"text":"a"})");
  EXPECT_EQ(seen.headers.at("content-type"), "application/json");
  auto const given = seen.headers.at("x-muster-signature");
  auto const time = std::stoll(given.substr(2, given.find(',') - 2));
  EXPECT_EQ(given, signature("0123456789abcdef", time, seen.body));
  EXPECT_TRUE(said().empty());
}

// The expected value of `printf '1.{}' | openssl dgst -sha256 -hmac key`.
TEST(webhooks, signatures_equal_those_of_openssl) {
  EXPECT_EQ(signature("key", 1, "{}"),
            "t=1,v1=1ba6b8171186efc613e8bcc0cbdab2748f24984d7c5a84faa2637afa0e40d224");
}

TEST_F(webhook_sender_test, retries_transient_errors_and_reports_each_change_once) {
  status = 503;
  webhook_sender sender(to("/hidden"), telling());
  ASSERT_TRUE(sender.start().ok());
  sender.send("{}");
  ASSERT_TRUE(await([&] { return sender.counts().failed == 1; }));
  EXPECT_EQ(asked, webhook_sender::tries_max);
  status = 200;
  sender.send("{}");
  ASSERT_TRUE(await([&] { return said().size() == 2; }));
  EXPECT_EQ(said()[0], (std::pair<bool, std::string>(
                           false, service.url() + "/…: answered with HTTP status 503")));
  EXPECT_EQ(said()[1],
            (std::pair<bool, std::string>(true, service.url() + "/… accepts alerts again")));
}

TEST_F(webhook_sender_test, does_not_follow_redirects_or_retry_them) {
  status = 302;
  webhook_sender sender(to("/"), telling());
  ASSERT_TRUE(sender.start().ok());
  sender.send("{}");
  ASSERT_TRUE(await([&] { return sender.counts().failed == 1; }));
  EXPECT_EQ(asked, 1);
}

TEST_F(webhook_sender_test, queue_is_limited_and_stop_is_immediate) {
  http_service silent([](http_seen const&) { return http_reply{.sent = http_reply::way::silent}; });
  webhook_settings s;
  s.urls = {silent.url()};
  webhook_sender sender(s, telling());
  ASSERT_TRUE(sender.start().ok());
  for (std::size_t i = 0; i < webhook_sender::waiting_max + 3; ++i) sender.send("{}");
  EXPECT_EQ(sender.counts().dropped, 3u);
  sender.stop();
  EXPECT_EQ(sender.counts().posted, 0u);
}

TEST_F(webhook_sender_test, hides_the_path_in_its_messages) {
  webhook_settings s;
  s.urls = {"http://127.0.0.1:1/T0/secret"};
  webhook_sender sender(s, telling());
  ASSERT_TRUE(sender.start().ok());
  sender.send("{}");
  ASSERT_TRUE(await([&] { return said().size() == 1; }, 60s));
  EXPECT_EQ(said()[0].second.find("secret"), std::string::npos) << said()[0].second;
}

TEST(webhooks, invalid_webhooks_are_refused_at_startup) {
  auto const wrong = [](std::string url, bool insecure = false) {
    webhook_settings s;
    s.urls = {std::move(url)};
    return problem_with(s, insecure);
  };
  EXPECT_EQ(wrong("https://hooks.example/x"), "");
  EXPECT_EQ(wrong("http://127.0.0.1:9/x"), "");
  EXPECT_EQ(wrong("http://[::1]:9/x"), "");
  EXPECT_NE(wrong("http://hooks.example/x").find("unencrypted"), std::string::npos);
  EXPECT_EQ(wrong("http://hooks.example/x", true), "");
  EXPECT_NE(wrong("ftp://hooks.example/x"), "");
  EXPECT_NE(wrong("hooks.example"), "");
  EXPECT_NE(wrong("https:///x"), "");
  webhook_settings s;
  s.urls.assign(webhook_settings::urls_max + 1, "https://hooks.example/x");
  EXPECT_NE(problem_with(s, false).find("8 addresses"), std::string::npos);
  s.urls.clear();
  s.secret_file = "x";
  EXPECT_NE(problem_with(s, false).find("--webhook-secret-file"), std::string::npos);
}

TEST_F(webhook_sender_test, rejects_an_unusable_secret) {
  auto s = to("/");
  s.secret_file = directory / "short";
  std::ofstream(s.secret_file) << "short\n";
  EXPECT_EQ(webhook_sender(s, telling()).start().code, code::failed_precondition);
  s.secret_file = directory / "none";
  EXPECT_NE(webhook_sender(s, telling()).start().message.find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace muster::server
