#include "web/notices/notices.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace muster::web {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

constexpr core::time_point noon = core::time_point(std::chrono::hours(480'000));

alert of(std::string rule, std::string subject, core::time_point since = noon + 1s) {
  alert a;
  a.rule = std::move(rule);
  a.subject = std::move(subject);
  a.title = a.subject + " is in trouble";
  a.detail = "why";
  a.since = since;
  a.link = "/tasks?task=" + a.subject;
  return a;
}

std::vector<std::string> subjects(alerts const& all) {
  std::vector<std::string> names;
  for (auto const& a : all) names.push_back(a.subject);
  return names;
}

using names = std::vector<std::string>;

struct notices_test : testing::Test {
  notification_board board{noon};
  void SetUp() override { EXPECT_TRUE(board.look({}).empty()); }
};

TEST_F(notices_test, lasting_alert_is_reported_once_and_at_its_end) {
  auto const lost = of("worker-lost", "worker:1");
  EXPECT_TRUE(board.look({lost}).empty()) << "it may be gone at the next look";
  EXPECT_EQ(subjects(board.look({lost}).began), (names{"worker:1"}));
  EXPECT_TRUE(board.look({lost}).empty());
  auto const n = board.look({});
  EXPECT_EQ(subjects(n.over), (names{"worker:1"}));
  EXPECT_TRUE(n.began.empty());
  EXPECT_TRUE(board.look({}).empty());
}

TEST_F(notices_test, alert_that_ends_before_the_next_check_is_not_reported) {
  EXPECT_TRUE(board.look({of("worker-late", "worker:1")}).empty());
  EXPECT_TRUE(board.look({}).empty());
}

TEST_F(notices_test, final_event_is_never_reported_as_over) {
  auto const failed = of("job-failed", "job_1");
  board.look({failed});
  EXPECT_EQ(board.look({failed}).began.size(), 1u);
  EXPECT_TRUE(board.look({}).empty());
}

TEST_F(notices_test, alerts_of_the_same_rule_are_separate) {
  alerts const both{of("worker-lost", "worker:1"), of("worker-lost", "worker:2")};
  board.look(both);
  EXPECT_EQ(board.look(both).began.size(), 2u);
}

TEST(notices, alerts_older_than_the_start_are_not_repeated) {
  notification_board board(noon);
  alerts const all{of("job-failed", "old", noon - 1s), of("worker-lost", "unknown", core::never),
                   of("worker-lost", "new", noon + 1s)};
  EXPECT_TRUE(board.look(all).empty());
  EXPECT_EQ(subjects(board.look(all).began), (names{"new"}));
  EXPECT_EQ(subjects(board.look({}).over), (names{"new", "unknown"}));
}

TEST(notices, number_of_remembered_alerts_is_limited) {
  notification_board board(noon);
  board.look({});
  alerts all;
  for (std::size_t i = 0; i < notification_board::known_max + 5; ++i)
    all.push_back(of("worker-lost", std::to_string(i)));
  board.look(all);
  EXPECT_EQ(board.look(all).began.size(), notification_board::known_max);
  EXPECT_TRUE(board.look(all).empty());
}

TEST(notices, have_the_slack_format) {
  notice n;
  n.began.push_back(of("worker-lost", "worker:1"));
  n.began.push_back(of("job-failed", "<!channel> & co"));
  n.over.push_back(of("no-worker", "tpu"));
  n.began.front().detail = std::string(3'000, 'x');
  auto const v = json::parse(slack_text(n, "https://muster.example"));
  EXPECT_EQ(v.at("text"),
            "Muster: worker:1 is in trouble and 1 more alert; resolved: tpu is in trouble");
  auto const& all = v.at("attachments").as_array();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].at("color"), "danger");
  EXPECT_EQ(all[0].at("title_link"), "https://muster.example/tasks?task=worker:1");
  EXPECT_EQ(all[0].at("ts"), 480'000ll * 3600 + 1);
  EXPECT_EQ(all[0].at("text").as_string().size(), 2'000 + std::string("…").size());
  EXPECT_EQ(all[1].at("title"), "&lt;!channel&gt; &amp; co is in trouble");
  EXPECT_EQ(all[2].at("title"), "Resolved: tpu is in trouble");
  EXPECT_EQ(all[2].at("color"), "good");
  EXPECT_FALSE(all[2].as_object().contains("text"));
}

TEST(notices, attach_at_most_twenty_alerts_and_the_total) {
  notice n;
  for (int i = 0; i < 30; ++i) n.began.push_back(of("worker-lost", "w" + std::to_string(i)));
  auto const v = json::parse(slack_text(n, ""));
  EXPECT_EQ(v.at("attachments").as_array().size(), 20u);
  EXPECT_EQ(v.at("text"), "Muster: w0 is in trouble and 29 more alerts");
  EXPECT_FALSE(v.at("attachments").as_array()[0].as_object().contains("title_link"));
}

}  // namespace
}  // namespace muster::web
