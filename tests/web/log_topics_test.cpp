#include "tests/web/fixture.hpp"
#include "tests/web/socket.hpp"
#include "web/live/log_topic.hpp"

namespace muster::web::test {
namespace log_topics_cases {

using namespace std::chrono_literals;
using list = std::vector<std::string>;

list texts(json::value const& message) {
  list out;
  for (auto const& l : message.at("lines").as_array()) out.push_back(text_at(l, "/text"));
  return out;
}

std::string sub(std::string const& topic, bool on = true) {
  return (on ? R"({"t":"sub","topic":")" : R"({"t":"unsub","topic":")") + topic + "\"}";
}

class log_topics : public web_fixture {
 protected:
  void SetUp() override {
    web_options o;
    o.websocket_tick = 20ms;
    start(o);
    w = &add_worker(worker::habit::hold);
    job = submit(2);
    of_job = "logs:" + text_at(job, "/id");
    of_closure = "logs:" + text_at(job, "/closures/0/id");
  }
  worker* w = nullptr;
  json::value job;
  std::string of_job, of_closure;
};

TEST_F(log_topics, existing_lines_are_a_snapshot_followed_by_new_lines) {
  w->log("before", 0);
  w->log("of the other", 1);
  socket s(port());
  s.send(sub(of_closure));
  auto const snap = s.receive("snap", of_closure);
  EXPECT_EQ(texts(snap), list{"before"});
  EXPECT_FALSE(snap.at("ended").as_bool());
  EXPECT_FALSE(snap.at("earlier").as_bool());
  w->log("live", 0);
  auto const d = s.receive("d", of_closure);
  EXPECT_EQ(texts(d), list{"live"});
  EXPECT_EQ(number_at(d, "/from"), number_at(snap, "/seq"));
  EXPECT_EQ(text_at(d, "/lines/0/worker"), "worker:0");
}

TEST_F(log_topics, topic_of_a_job_has_lines_of_all_its_closures) {
  socket s(port());
  s.send(sub(of_job));
  EXPECT_EQ(texts(s.receive("snap", of_job)), list{});
  w->log("one", 1);
  EXPECT_EQ(texts(s.receive("d", of_job)), list{"one"});
}

TEST_F(log_topics, progress_and_the_end_are_sent_without_lines) {
  socket s(port());
  s.send(sub(of_closure));
  s.receive("snap", of_closure);
  w->progress(0.5, "half", 0);
  auto const d = s.receive("d", of_closure);
  EXPECT_EQ(text_at(d, "/progress/text"), "half");
  w->finish_all();
  auto const end = s.receive("d", of_closure);
  EXPECT_TRUE(end.at("ended").as_bool());
  EXPECT_EQ(texts(end), list{});
}

TEST_F(log_topics, no_message_is_sent_without_changes) {
  socket s(port());
  s.send(sub(of_closure));
  s.receive("snap", of_closure);
  s.send(sub("counters"));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(text_at(s.receive(), "/topic"), "counters");
}

TEST_F(log_topics, unknown_job_is_marked_as_unknown) {
  socket s(port());
  s.send(sub("logs:job_0000000000000099"));
  EXPECT_FALSE(s.receive("snap", "logs:job_0000000000000099").at("known").as_bool());
  s.send(sub("logs:cl_0000000900000009"));
  EXPECT_FALSE(s.receive("snap", "logs:cl_0000000900000009").at("known").as_bool());
}

TEST_F(log_topics, resume_continues_at_its_position_or_gets_a_snapshot) {
  w->log("1", 0);
  socket stays(port());
  stays.send(sub(of_closure));
  auto const seq = number_at(stays.receive("snap", of_closure), "/seq");
  w->log("2", 0);
  stays.receive("d", of_closure);
  auto const resume = [&](std::string const& boot, std::int64_t at) {
    return R"({"t":"resume","boot":")" + boot + R"(","topics":{")" + of_closure +
           "\":" + std::to_string(at) + "}}";
  };
  socket same(port());
  same.send(resume("9f27c0de51a3b8e4", seq));
  EXPECT_EQ(texts(same.receive("d", of_closure)), list{"2"});
  socket other(port());
  other.send(resume("0000000000000001", seq));
  EXPECT_EQ(texts(other.receive("snap", of_closure)), (list{"1", "2"}));
}

TEST_F(log_topics, recreated_topic_continues_with_higher_numbers) {
  w->log("1", 0);
  socket s(port());
  s.send(sub(of_closure));
  auto const seq = number_at(s.receive("snap", of_closure), "/seq");
  s.send(sub(of_closure, false));
  s.send(sub("counters"));
  for (int i = 0; i < 3; ++i) s.receive("d", "counters");  // lets the hub sample its state
  w->log("2", 0);
  s.send(R"({"t":"resume","boot":"9f27c0de51a3b8e4","topics":{")" + of_closure +
         "\":" + std::to_string(seq) + "}}");
  auto const again = s.receive("snap", of_closure);
  EXPECT_EQ(texts(again), (list{"1", "2"}));
  EXPECT_GT(number_at(again, "/seq"), seq);
}

TEST_F(log_topics, more_than_four_topics_are_refused) {
  socket s(port());
  for (int i = 1; i <= 5; ++i) s.send(sub("logs:job_000000000000000" + std::to_string(i)));
  auto const e = s.receive("err");
  EXPECT_EQ(text_at(e, "/code"), "RESOURCE_EXHAUSTED");
}

TEST_F(log_topics, invalid_id_is_not_a_topic) {
  for (auto const* name :
       {"logs:", "logs:x", "logs:cl_0000000000000000", "logs:rv_0000000000000001"}) {
    socket s(port());
    s.send(sub(name));
    EXPECT_EQ(text_at(s.receive("err"), "/code"), "INVALID_ARGUMENT") << name;
  }
}

struct log_topic_parts : testing::Test {
  log_topic t{"logs:cl_0000000100000000", {{}, core::closure_id{1}}, 100};
  std::uint64_t seq = 0;

  log_update lines(std::size_t n, std::size_t bytes = 1) {
    log_update news;
    for (std::size_t i = 0; i < n; ++i) {
      server::log_line l;
      l.seq = ++seq;
      l.text = std::string(bytes, 'x');
      news.lines.push_back(l);
    }
    return news;
  }
  static std::size_t count(shared_text const& text) {
    return json::parse(*text).at("lines").as_array().size();
  }
};

TEST_F(log_topic_parts, keeps_the_newest_lines_and_marks_dropped_ones) {
  t.update(lines(log_lines_shown));
  EXPECT_FALSE(json::parse(*t.snapshot()).at("earlier").as_bool());
  auto const behind = t.seq();
  t.update(lines(1));
  EXPECT_EQ(count(t.snapshot()), log_lines_shown);
  EXPECT_TRUE(json::parse(*t.snapshot()).at("earlier").as_bool());
  EXPECT_TRUE(t.can_serve(behind));
  EXPECT_EQ(count(t.delta(behind)), 1u);
  auto const old = t.seq();
  t.update(lines(log_lines_shown));
  EXPECT_TRUE(t.can_serve(old));
  t.update(lines(1));
  EXPECT_FALSE(t.can_serve(old));  // a line that the client has not received was dropped
}

TEST_F(log_topic_parts, bytes_are_limited) {
  t.update(lines(100, 8'000));
  EXPECT_LT(t.snapshot()->size(), log_bytes_shown + 1'000);
}

TEST_F(log_topic_parts, skipped_lines_require_a_new_snapshot) {
  t.update(lines(3));
  auto const seen = t.seq();
  auto news = lines(2);
  news.skipped = true;
  t.update(news);
  EXPECT_FALSE(t.can_serve(seen));
  EXPECT_EQ(count(t.snapshot()), 2u);
  EXPECT_TRUE(t.can_serve(t.seq()));
}

TEST_F(log_topic_parts, sequence_numbers_of_another_topic_instance_are_rejected) {
  t.update(lines(1));
  EXPECT_FALSE(t.can_serve(100));
  EXPECT_FALSE(t.can_serve(7));
  EXPECT_TRUE(t.can_serve(101));
  EXPECT_FALSE(t.can_serve(102));
}

TEST_F(log_topic_parts, update_without_changes_keeps_the_sequence_number) {
  t.update(lines(1));
  auto const at = t.seq();
  t.update({});
  EXPECT_EQ(t.seq(), at);
}

}  // namespace log_topics_cases
}  // namespace muster::web::test
