#include "tests/web/rest/program_fixture.hpp"
#include "tests/web/socket.hpp"

namespace muster::web::test {
namespace {

struct program_topics : program_fixture {
  void SetUp() override {
    web_options o;
    o.websocket_tick = 20ms;
    start_with_ranks(o);
    topic = "program:" + core::text(id);
  }
  static std::string sub(std::string const& topic, bool on = true) {
    return (on ? R"({"t":"sub","topic":")" : R"({"t":"unsub","topic":")") + topic + "\"}";
  }
  /// Returns the next delta that contains this row.
  json::value next_row(socket& s, std::string const& of, std::string const& row) {
    for (;;) {
      auto const d = s.receive("d", of);
      if (d.is_null() || d.at("rows").as_object().contains(row)) return d;
    }
  }
  std::string topic;
};

TEST_F(program_topics, list_has_a_row_per_program_and_sends_changes) {
  socket s(port());
  s.send(sub("programs"));
  auto const snap = s.receive("snap", "programs");
  auto const& row = snap.at("rows").at(core::text(id));
  EXPECT_EQ(text_at(row, "/state"), "STARTING");
  EXPECT_EQ(number_at(row, "/ranks"), 2);
  EXPECT_EQ(number_at(row, "/tasks/worker/max"), 2);
  EXPECT_EQ(text_at(row, "/cluster"), "");
  EXPECT_FALSE(row.as_object().contains("command"));
  EXPECT_EQ(number_at(snap, "/more"), 0);
  report({{rank(0), 70}, {rank(1), 71}}, {});
  auto const d = next_row(s, "programs", core::text(id));
  EXPECT_EQ(text_at(d.at("rows").at(core::text(id)), "/state"), "RUNNING");
}

TEST_F(program_topics, deleted_program_is_removed_from_the_list) {
  socket s(port());
  s.send(sub("programs"));
  s.receive("snap", "programs");
  post_json(path + "/cancel", "", 200);
  report({}, {{.name = rank(0), .signal = 15, .stopped = true},
              {.name = rank(1), .signal = 15, .stopped = true}});
  EXPECT_EQ(send("DELETE", path).status, 204u);
  for (;;) {
    auto const d = s.receive("d", "programs");
    ASSERT_FALSE(d.is_null());
    if (!d.at("gone").as_array().empty()) {
      EXPECT_EQ(text_at(d, "/gone/0"), core::text(id));
      return;
    }
  }
}

TEST_F(program_topics, topic_of_a_program_has_its_attempts_and_ranks) {
  socket s(port());
  s.send(sub(topic));
  auto const snap = s.receive("snap", topic);
  auto const& rows = snap.at("rows");
  EXPECT_EQ(text_at(rows, "/program/id"), core::text(id));
  EXPECT_EQ(text_at(rows, "/program/command/0"), "true");
  EXPECT_EQ(number_at(rows, "/attempts/attempts/0/attempt"), 1);
  EXPECT_EQ(rows.at("barriers").at("barriers").as_array().size(), 0u);
  EXPECT_EQ(text_at(rows, "/1/task"), "worker:1");
  report({{rank(0), 70}}, {});
  auto const d = next_row(s, topic, "0");
  EXPECT_EQ(text_at(d, "/rows/0/state"), "RUNNING");
  EXPECT_FALSE(d.at("rows").as_object().contains("1")) << "the program has not changed";
}

TEST_F(program_topics, last_lines_are_requested_only_with_a_subscriber) {
  {
    socket list(port());
    list.send(sub("programs"));
    list.receive("snap", "programs");
    EXPECT_TRUE(lines_queries().empty()) << "no client has subscribed to the ranks";
  }
  socket s(port());
  s.send(sub(topic));
  s.receive("snap", topic);
  auto const q = await_lines_queries(1).at(0);
  EXPECT_EQ(q.program, id);
  EXPECT_EQ(q.ranks, (std::vector<std::uint32_t>{0, 1}));
  say_last_lines({{0, 20, "step 3"}, {1, 21, "step 4"}});
  auto const d = next_row(s, topic, "1");
  EXPECT_EQ(text_at(d, "/rows/0/last_line"), "step 3");
  EXPECT_EQ(text_at(d, "/rows/1/last_line"), "step 4");
  EXPECT_EQ(await_lines_queries(2).at(1).sizes, (std::vector<std::uint64_t>{20, 21}));
  s.send(sub(topic, false));
  s.send(sub("counters"));
  for (int i = 0; i < 3; ++i) s.receive("d", "counters");  // lets the hub sample its state
  say_last_lines({});
  auto const asked = lines_queries().size();
  for (int i = 0; i < 100; ++i) s.receive("d", "counters");
  EXPECT_EQ(lines_queries().size(), asked) << "no client is subscribed any longer";
}

TEST_F(program_topics, topic_of_an_unknown_program_has_no_rows) {
  socket s(port());
  s.send(sub("program:prog_00000000000000ff"));
  auto const snap = s.receive("snap", "program:prog_00000000000000ff");
  EXPECT_TRUE(snap.at("rows").as_object().empty());
  socket other(port());
  other.send(sub("program:x"));
  EXPECT_EQ(text_at(other.receive("err"), "/code"), "INVALID_ARGUMENT");
}

TEST_F(program_topics, resume_gets_missed_changes_or_a_snapshot) {
  socket s(port());
  s.send(sub(topic));
  auto const seq = number_at(s.receive("snap", topic), "/seq");
  auto const resume = [&](std::string const& boot) {
    return R"({"t":"resume","boot":")" + boot + R"(","topics":{")" + topic +
           "\":" + std::to_string(seq) + "}}";
  };
  report({{rank(0), 70}}, {});
  next_row(s, topic, "0");
  socket same(port());
  same.send(resume("9f27c0de51a3b8e4"));
  auto const d = same.receive("d", topic);
  EXPECT_TRUE(d.at("rows").as_object().contains("0"));
  EXPECT_FALSE(d.at("rows").as_object().contains("1"));
  socket other(port());
  other.send(resume("0000000000000001"));
  EXPECT_TRUE(other.receive("snap", topic).at("rows").as_object().contains("1"));
}

TEST_F(program_topics, count_towards_the_limit_of_four_topics) {
  socket s(port());
  for (int i = 1; i <= 4; ++i) s.send(sub("logs:job_000000000000000" + std::to_string(i)));
  s.send(sub(topic));
  EXPECT_EQ(text_at(s.receive("err"), "/code"), "RESOURCE_EXHAUSTED");
}

struct program_topics_of_clusters : web_fixture {};

TEST_F(program_topics_of_clusters, contain_only_the_clusters_of_the_token) {
  web_options quick;
  quick.websocket_tick = 20ms;
  start_guarded(quick);
  ASSERT_EQ(send_as(admin_, "POST", "/api/v1/clusters", R"({"name":"train"})").status, 201u);
  auto const submit_to = [&](std::string const& cluster) {
    auto const r =
        send_as(admin_, "POST", "/api/v1/programs",
                R"({"command":["true"],"tasks":{"worker":1},"cluster":")" + cluster + "\"}");
    EXPECT_EQ(r.status, 201u) << r.body;
    return text_at(json::parse(r.body), "/id");
  };
  auto const of_main = submit_to("default"), of_train = submit_to("train");
  socket::options o;
  o.token = make_token(core::role::viewer, {"train"});
  socket s(port(), o);
  s.send(R"({"t":"sub","topic":"programs"})");
  auto const rows = s.receive("snap", "programs").at("rows").as_object();
  EXPECT_TRUE(rows.contains(of_train));
  EXPECT_FALSE(rows.contains(of_main));
  for (auto const& [program, known] : {std::pair(of_main, false), std::pair(of_train, true)}) {
    s.send(R"({"t":"sub","topic":"program:)" + program + "\"}");
    auto const snap = s.receive("snap", "program:" + program);
    EXPECT_EQ(snap.at("rows").as_object().contains("program"), known);
  }
}

}  // namespace
}  // namespace muster::web::test
