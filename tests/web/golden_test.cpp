// The dashboard's golden messages have the same keys and types as the server's messages.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "tests/web/agents.hpp"
#include "tests/web/fixture.hpp"
#include "tests/web/socket.hpp"
#include "web/live/agents_topic.hpp"
#include "web/live/counters_topic.hpp"
#include "web/live/jobs_topic.hpp"
#include "web/live/log_topic.hpp"
#include "web/live/tasks_topic.hpp"

namespace muster::web {
namespace golden_cases {

namespace json = boost::json;
using namespace std::chrono_literals;

core::time_point const start{std::chrono::microseconds(1'795'244'400'000'000)};

json::value golden(std::string const& name) {
  std::ifstream file(std::string(MUSTER_GOLDEN_DIR) + "/" + name + ".json");
  EXPECT_TRUE(file) << "no golden file " << name;
  std::ostringstream text;
  text << file.rdbuf();
  return json::parse(text.str());
}

std::string kind(json::value const& v) {
  return v.is_number() ? "number" : json::to_string(v.kind()).data();
}

// Compares arrays by their first elements; an empty array fits any.
void expect_same_shape(json::value const& want, json::value const& got, std::string const& at) {
  ASSERT_EQ(kind(want), kind(got)) << at;
  if (want.is_object()) {
    for (auto const& [key, value] : want.as_object()) {
      auto const* mine = got.as_object().if_contains(key);
      ASSERT_TRUE(mine) << at << "/" << key << " is missing";
      expect_same_shape(value, *mine, at + "/" + std::string(key));
    }
    for (auto const& [key, value] : got.as_object())
      EXPECT_TRUE(want.as_object().contains(key))
          << at << "/" << key << " is not in the golden file";
  }
  if (want.is_array() && !want.as_array().empty() && !got.as_array().empty())
    expect_same_shape(want.at(0), got.at(0), at + "/0");
}

void expect_golden(std::string const& name, shared_text const& text) {
  ASSERT_TRUE(text) << name;
  expect_same_shape(golden(name), json::parse(*text), name);
}

core::task_view task(std::uint32_t row) {
  core::task_view t;
  t.row = row;
  t.job = "worker";
  return t;
}

TEST(golden, tasks) {
  tasks_topic topic;
  topic.update({task(1), task(2)}, start, 5s, true);
  expect_golden("tasks_snap", topic.snapshot());
  auto changed = task(2);
  changed.running = 1;
  topic.update({changed}, start, 5s, true);
  expect_golden("tasks_delta", topic.delta_for(1, {}));
}

TEST(golden, agents) {
  agents_topic topic;
  std::string const fares = R"({"state":"CONNECTED","waits":[""]})";
  std::string const is =
      R"({"cluster":"","job":"","index":0,"incarnation":"","address":"","registered":0,"devices":0})";
  topic.update({{"default/worker", 0, is, fares}, {"default/worker", 1, is, fares}}, 0, start, "");
  auto const late = R"({"state":"LATE","late_for":"","late_since":0,"waits":[]})";
  topic.update({{"default/worker", 1, is, late}, {"default/worker", 3, is, fares}}, 0, start, "");
  expect_golden("agents_delta", topic.delta_for(1));
}

TEST(golden, jobs) {
  core::job_view one, two;
  one.id = core::session_id{1};
  two.id = core::session_id{2};
  jobs_topic topic;
  topic.update({one}, start);
  expect_golden("jobs_snap", topic.snapshot());
  topic.update({two}, start);
  expect_golden("jobs_delta", topic.delta_for(1));
}

TEST(golden, counters) {
  counters_topic topic(start);
  counters c;
  c.now = start;
  c.functions.resize(2);
  c.shown = {{"train.step", 1, 2, 3, 4, 5, 6}};
  topic.update(c);
  expect_golden("counters_snap", topic.snapshot());
  c.now = start + 1s;
  topic.update(c);
  expect_golden("counters_delta", topic.delta(1));
}

TEST(golden, logs) {
  log_topic topic("logs:cl_0000000100000000", {{}, core::closure_id{1}}, 0);
  auto const news = [](std::uint64_t seq) {
    log_update n;
    n.now = start;
    n.lines.emplace_back();
    n.lines.back().seq = seq;
    n.lines.back().worker = std::make_shared<std::string const>("worker:1");
    return n;
  };
  auto first = news(1);
  first.progress = server::closure_progress{0.25, "a quarter", start, 1};
  topic.update(first);
  expect_golden("logs_snap", topic.snapshot());
  topic.update(news(2));
  expect_golden("logs_delta", topic.delta(1));
}

class golden_hello : public test::web_fixture {};

// Compares the first row of each side, since the server chooses the names of rows.
class golden_rows : public test::web_fixture, public ::testing::WithParamInterface<char const*> {};

TEST_P(golden_rows, have_the_same_shape) {
  start({}, {}, 2);
  test::agents a(core_engine());
  a.join(2);
  a.enter(0, "step");
  add_worker(test::worker::habit::hold);
  std::string const topic = GetParam();
  test::socket s(port());
  s.send(R"({"t":"sub","topic":")" + topic + R"("})");
  auto const got = s.receive("snap", topic);
  auto const want = golden(topic + "_snap");
  ASSERT_FALSE(got.at("rows").as_object().empty());
  expect_same_shape(want.at("rows").as_object().begin()->value(),
                    got.at("rows").as_object().begin()->value(), topic);
  for (auto const* key : {"seq", "now", "gone", "more"})
    expect_same_shape(want.at(key), got.at(key), key);
}

INSTANTIATE_TEST_SUITE_P(topics, golden_rows,
                         ::testing::Values("clusters", "agents", "barriers", "events"));

TEST_F(golden_hello, alerts) {
  start();
  post_json("/api/v1/jobs", R"({"closures":[{"function":"f"}]})", 201);
  test::socket s(port());
  s.send(R"({"t":"sub","topic":"attention"})");
  auto const got = s.receive("snap", "attention");
  expect_same_shape(golden("attention_snap").at("rows").at("no-worker "),
                    got.at("rows").at("no-worker "), "attention");
}

TEST_F(golden_hello, hello) {
  start();
  test::socket s(port());
  auto const got = s.receive();
  expect_same_shape(golden("hello"), got, "hello");
  EXPECT_EQ(got.at("heartbeat_ms"), 5000);
  EXPECT_EQ(got.at("late_ms"), 12500);
  EXPECT_EQ(got.at("timeout_ms"), 15000);
}

}  // namespace golden_cases
}  // namespace muster::web
