#include <fstream>
#include <regex>
#include <set>
#include <thread>

#include "tests/web/fixture.hpp"
#include "tests/web/socket.hpp"
#include "web/live/subscriber.hpp"

namespace muster::web::test {
namespace websocket_cases {

using namespace std::chrono_literals;

class websocket : public web_fixture {
 protected:
  static web_options quick() {
    web_options o;
    o.websocket_tick = 20ms;
    return o;
  }
  std::int64_t metric(std::string const& name) {
    auto const text = get("/metrics").body;
    auto const at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stoll(text.substr(at + name.size() + 2));
  }
};

std::string sub(std::string const& topic) {
  return R"({"t":"sub","topic":")" + topic + "\"}";
}

TEST_F(websocket, greets_with_this_run_and_the_limits) {
  start();
  socket s(port());
  auto const hello = s.receive();
  EXPECT_EQ(hello.at("t"), "hello");
  EXPECT_EQ(hello.at("proto"), "muster.v1");
  EXPECT_EQ(hello.at("boot"), "9f27c0de51a3b8e4");
  EXPECT_EQ(hello.at("limits").at("message_bytes"), 4096);
}

TEST_F(websocket, counters_are_sent_as_a_snapshot_and_then_deltas) {
  start(quick());
  socket s(port());
  s.send(sub("counters"));
  auto const snap = s.receive("snap", "counters");
  ASSERT_FALSE(snap.is_null());
  auto seq = number_at(snap, "/seq");
  for (int i = 0; i < 5; ++i) {
    auto const d = s.receive();
    ASSERT_EQ(d.at("t"), "d");
    EXPECT_EQ(number_at(d, "/from"), seq);
    EXPECT_GT(number_at(d, "/seq"), seq);
    seq = number_at(d, "/seq");
  }
}

TEST_F(websocket, change_of_a_task_is_a_delta_with_its_row) {
  start(quick());
  for (int i = 0; i < 3; ++i) add_worker(worker::habit::hold, i);
  socket s(port());
  s.send(sub("tasks"));
  auto const snap = s.receive("snap", "tasks");
  ASSERT_EQ(snap.at("rows").at("i").as_array().size(), 3u);
  workers_[1]->lose("pulled out");
  auto const d = s.receive("d", "tasks");
  EXPECT_EQ(d.at("rows").at("index"), (json::value{1}));
  EXPECT_EQ(d.at("rows").at("state"), (json::value{"ERROR"}));
  EXPECT_NE(text_at(d, "/rows/error/0").find("pulled out"), std::string::npos);
  EXPECT_EQ(number_at(d, "/from"), number_at(snap, "/seq"));
}

TEST_F(websocket, jobs_are_sent_newest_first_and_updated) {
  start(quick());
  submit(1);
  socket s(port());
  s.send(sub("jobs"));
  EXPECT_EQ(s.receive("snap", "jobs").at("jobs").as_array().size(), 1u);
  submit(2, R"(,"name":"second")");
  auto const d = s.receive("d", "jobs");
  EXPECT_EQ(text_at(d, "/jobs/0/name"), "second");
  EXPECT_EQ(number_at(d, "/jobs/0/total"), 2);
}

TEST_F(websocket, watched_row_is_sent_at_each_heartbeat) {
  start(quick());
  auto& w = add_worker(worker::habit::hold);
  (void)w;
  socket s(port());
  s.send(sub("tasks"));
  auto const snap = s.receive("snap", "tasks");
  auto const row = json::serialize(snap.at("rows").at("i").at(0));
  s.send(R"({"t":"rows","ids":[)" + row + "]}");
  submit(1);  // its delta shows that the subscription works
  ASSERT_FALSE(s.receive("d", "tasks").is_null());
  workers_[0]->finish_all();
  EXPECT_FALSE(s.receive("d", "tasks").is_null());
}

TEST_F(websocket, unsubscribed_topic_sends_nothing) {
  start(quick());
  socket s(port());
  s.send(sub("jobs"));
  ASSERT_FALSE(s.receive("snap", "jobs").is_null());
  s.send(R"({"t":"unsub","topic":"jobs"})");
  s.send(sub("counters"));
  ASSERT_FALSE(s.receive("snap", "counters").is_null());
  submit(1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(s.receive().at("topic"), "counters");
}

TEST_F(websocket, resume_continues_from_the_clients_sequence_number) {
  start(quick());
  for (int i = 0; i < 3; ++i) add_worker(worker::habit::hold, i);
  std::int64_t seq = 0;
  {
    socket s(port());
    s.send(sub("tasks"));
    seq = number_at(s.receive("snap", "tasks"), "/seq");
  }
  workers_[2]->lose("meanwhile");
  socket s(port());
  s.send(R"({"t":"resume","boot":"9f27c0de51a3b8e4","topics":{"tasks":)" + std::to_string(seq) +
         "}}");
  auto d = s.receive("d", "tasks");
  ASSERT_FALSE(d.is_null());
  EXPECT_EQ(number_at(d, "/from"), seq);
  // The first delta may precede the next sample of the engine, and be empty.
  if (d.at("rows").at("i").as_array().empty()) d = s.receive("d", "tasks");
  EXPECT_EQ(d.at("rows").at("index"), (json::value{2}));
}

TEST_F(websocket, resume_is_answered_even_if_nothing_changed) {
  start(quick());
  add_worker(worker::habit::hold);
  socket a(port());
  a.send(sub("tasks"));
  auto const seq = number_at(a.receive("snap", "tasks"), "/seq");
  socket b(port());
  b.send(R"({"t":"resume","boot":"9f27c0de51a3b8e4","topics":{"tasks":)" + std::to_string(seq) +
         "}}");
  EXPECT_TRUE(b.receive("d", "tasks").at("rows").at("i").as_array().empty());
}

TEST_F(websocket, resume_from_another_run_or_from_the_future_gives_a_snapshot) {
  start(quick());
  for (auto const* resume :
       {R"({"t":"resume","boot":"0000000000000001","topics":{"tasks":1}})",
        R"({"t":"resume","boot":"9f27c0de51a3b8e4","topics":{"tasks":99999}})"}) {
    socket s(port());
    s.send(resume);
    s.receive("hello");
    EXPECT_EQ(s.receive().at("t"), "snap") << resume;
  }
}

TEST_F(websocket, invalid_message_is_an_error_and_ends_the_session) {
  start();
  for (std::string const bad :
       {"hello", "{}", "[]", "1", R"({"t":1})", R"({"t":"shout"})", R"({"t":"sub"})",
        R"({"t":"sub","topic":"secrets"})", R"({"t":"sub","topic":7})",
        R"({"t":"rows","ids":["a"]})", R"({"t":"rows","ids":[-1]})",
        R"({"t":"resume","boot":1,"topics":{}})",
        R"({"t":"resume","boot":"x","topics":{"tasks":"1"}})",
        R"({"t":"resume","boot":"x","topics":{"nope":1}})"}) {
    socket s(port());
    s.send(bad);
    auto const err = s.receive("err");
    ASSERT_FALSE(err.is_null()) << bad;
    EXPECT_EQ(err.at("code"), "INVALID_ARGUMENT");
    EXPECT_TRUE(s.receive().is_null());
    EXPECT_EQ(s.close_code(), 1008u);
  }
  socket s(port());
  s.send_binary("{\"t\":\"ack\"}");
  EXPECT_FALSE(s.receive("err").is_null());
  EXPECT_TRUE(s.receive().is_null());
  EXPECT_EQ(s.close_code(), 1003u);
}

std::set<unsigned> documented_close_codes() {
  std::ifstream file(MUSTER_WEBSOCKET_DOC);
  std::regex const row(R"(^\| (1\d\d\d) \|.*$)");
  std::set<unsigned> codes;
  std::smatch m;
  for (std::string line; std::getline(file, line);)
    if (std::regex_match(line, m, row)) codes.insert(static_cast<unsigned>(std::stoul(m[1])));
  return codes;
}

TEST_F(websocket, close_codes_match_the_documentation) {
  start();
  std::set<unsigned> codes;
  for (std::string const& bad : {std::string("not JSON"), std::string("\xff\xfe"),
                                 std::string(websocket_message_bytes_max + 1, ' ')}) {
    socket s(port());
    s.send(bad);
    s.receive("err");
    EXPECT_TRUE(s.receive().is_null());
    codes.insert(s.close_code());
  }
  socket binary(port()), patient(port());
  binary.send_binary("x");
  binary.receive("err");
  EXPECT_TRUE(binary.receive().is_null());
  codes.insert(binary.close_code());
  EXPECT_EQ(patient.receive().at("t"), "hello");
  std::thread stopping([this] { stop_web(); });
  EXPECT_FALSE(patient.receive("bye").is_null());
  EXPECT_TRUE(patient.receive().is_null());
  codes.insert(patient.close_code());
  stopping.join();
  EXPECT_EQ(codes, documented_close_codes());
}

TEST_F(websocket, handshake_without_a_sixteen_byte_key_is_refused) {
  start();
  auto const answer = [&](std::string const& key) {
    raw_socket s(port());
    s.send(
        "GET /api/v1/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: "
        "websocket\r\n"
        "Sec-WebSocket-Version: 13\r\n" +
        key + "\r\n");
    return s.receive_until("\r\n\r\n");
  };
  for (auto const* key :
       {"", "Sec-WebSocket-Key:\r\n", "Sec-WebSocket-Key: not base64 of 16 by.==\r\n",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ\r\n",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZSEhIQ==\r\n"})
    EXPECT_TRUE(answer(key).starts_with("HTTP/1.1 400 ")) << key << answer(key);
  EXPECT_TRUE(
      answer("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n").starts_with("HTTP/1.1 101 "));
}

TEST_F(websocket, too_many_watched_rows_are_an_error) {
  start();
  std::string ids;
  for (int i = 0; i < 201; ++i) ids += (i ? "," : "") + std::to_string(i);
  socket s(port());
  s.send(R"({"t":"rows","ids":[)" + ids + "]}");
  EXPECT_NE(text_at(s.receive("err"), "/text").find("200"), std::string::npos);
}

TEST_F(websocket, a_message_beyond_4096_bytes_ends_the_connection) {
  start();
  socket s(port());
  s.receive("hello");
  s.send(R"({"t":"ack","x":")" + std::string(5000, 'x') + "\"}");
  while (!s.receive().is_null()) {
  }
  EXPECT_EQ(s.close_code(), 1009u);
  EXPECT_EQ(get("/livez").status, 200u);
}

TEST_F(websocket, client_beyond_the_limit_is_refused_until_another_disconnects) {
  auto options = quick();
  options.websocket_clients_max = 64;
  start(options);
  std::vector<std::unique_ptr<socket>> all;
  for (int i = 0; i < 64; ++i) {
    all.push_back(std::make_unique<socket>(port()));
    ASSERT_EQ(all.back()->status(), 101u) << i;
  }
  EXPECT_EQ(socket(port()).status(), 503u);
  EXPECT_EQ(metric("muster_websocket_clients"), 64);
  all.pop_back();
  EXPECT_TRUE(eventually([&] { return socket(port()).status() == 101u; }));
}

TEST_F(websocket, silent_client_gets_a_bye_and_is_closed) {
  auto options = quick();
  options.timeouts.websocket_ack = 100ms;
  start(options);
  socket s(port());
  auto const bye = s.receive("bye");
  ASSERT_FALSE(bye.is_null());
  EXPECT_EQ(bye.at("reason"), "slow");
  EXPECT_GT(number_at(bye, "/retry_ms"), 0);
  EXPECT_TRUE(s.receive().is_null());
}

TEST_F(websocket, client_that_acknowledges_stays_connected) {
  auto options = quick();
  options.timeouts.websocket_ack = 1s;
  start(options);
  socket s(port());
  s.send(sub("counters"));
  auto const until = std::chrono::steady_clock::now() + 2500ms;
  while (std::chrono::steady_clock::now() < until) {
    ASSERT_TRUE(s.send("{\"t\":\"ack\"}"));
    ASSERT_FALSE(s.receive().is_null());
  }
}

TEST_F(websocket, client_that_does_not_read_is_dropped_without_delaying_others) {
  auto options = quick();
  options.send_buffer_bytes = 8 * 1024;
  options.timeouts.websocket_write = 300ms;
  start(options);
  for (int i = 0; i < 40; ++i) add_worker(worker::habit::hold, i);
  socket::options small;
  small.receive_buffer = 4 * 1024;
  socket deaf(port(), small);
  ASSERT_EQ(deaf.status(), 101u);
  deaf.send(sub("tasks"));
  deaf.send(sub("counters"));
  socket well(port());
  well.send(sub("counters"));
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(well.receive("d", "counters").is_null());
    return metric("muster_websocket_slow_total") == 1;
  }));
  EXPECT_TRUE(eventually([&] { return metric("muster_websocket_clients") == 1; }));
}

TEST_F(websocket, history_continues_without_clients) {
  start(quick());
  EXPECT_TRUE(eventually([&] {
    socket s(port());
    s.send(sub("counters"));
    auto const snap = s.receive("snap", "counters");
    s.drop();
    return snap.at("history").at("t").as_array().size() >= 2;
  }));
}

TEST_F(websocket, pages_of_other_origins_are_refused) {
  start();
  socket::options o;
  o.origin = "http://evil.example";
  EXPECT_EQ(socket(port(), o).status(), 403u);
  o.origin = "null";
  EXPECT_EQ(socket(port(), o).status(), 403u);
  o.origin = "http://127.0.0.1:" + std::to_string(port());
  EXPECT_EQ(socket(port(), o).status(), 101u);
}

TEST_F(websocket, another_subprotocol_is_refused) {
  start();
  socket::options o;
  o.protocol = "chat";
  EXPECT_EQ(socket(port(), o).status(), 400u);
  o.protocol = "";
  EXPECT_EQ(socket(port(), o).status(), 101u);
}

TEST_F(websocket, garbage_frames_end_only_their_connection) {
  start();
  for (auto const& bytes : {std::string(20, '\xff'), std::string("\x81\x05hello"),
                            std::string("\x83\x80\0\0\0\0", 6), std::string(8, '\xff')}) {
    raw_socket s(port());
    s.send(
        "GET /api/v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: "
        "Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
    EXPECT_NE(s.receive_until("hello").find("101 "), std::string::npos);
    s.send(bytes);
    s.shut_down_send();
    s.receive_all();
  }
  EXPECT_EQ(get("/livez").status, 200u);
}

// Completes the handshake as a raw client, and begins a text frame of four bytes. The bytes sent
// next are its payload.
void begin_a_frame(raw_socket& s, std::string const& before = {}) {
  s.send(
      "GET /api/v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
  EXPECT_NE(s.receive_until("hello").find("101 "), std::string::npos);
  s.send(before + std::string("\x81\x84\0\0\0\0", 6));
}

std::string const close_frame = "\x88\x02\x03\xe8", refusal_frame = "\x88\x02\x03\xf0";
std::string const not_utf8 = "\xff\xff\xff\xff";

// The broken frame arrives while the server waits for the end of its own close.
TEST_F(websocket, a_session_ends_when_a_broken_frame_follows_an_erroneous_message) {
  auto options = quick();
  options.timeouts.websocket_write = 200ms;
  start(options);
  raw_socket s(port());
  begin_a_frame(s, std::string("\x81\x82\0\0\0\0{}", 8));
  EXPECT_NE(s.receive_until(refusal_frame).find("INVALID_ARGUMENT"), std::string::npos);
  s.send(not_utf8);
  EXPECT_TRUE(eventually([&] { return metric("muster_websocket_clients") == 0; }));
}

TEST_F(websocket, a_session_ends_when_a_broken_frame_follows_a_bye) {
  auto options = quick();
  options.timeouts.websocket_ack = 100ms;
  options.timeouts.websocket_write = 200ms;
  start(options);
  raw_socket s(port());
  begin_a_frame(s);
  EXPECT_NE(s.receive_until(close_frame).find("bye"), std::string::npos);
  s.send(not_utf8);
  EXPECT_TRUE(eventually([&] { return metric("muster_websocket_clients") == 0; }));
}

TEST_F(websocket, a_stop_ends_sessions_whose_last_frame_is_broken) {
  start();
  raw_socket s(port());
  begin_a_frame(s);
  server_->stop(300ms);
  EXPECT_NE(s.receive_until(close_frame).find("bye"), std::string::npos);
  s.send(not_utf8);
  auto const begin = std::chrono::steady_clock::now();
  stop_web(300ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST_F(websocket, stop_sends_a_bye_with_a_reconnect_delay) {
  start();
  socket s(port());
  s.receive("hello");
  server_->stop(5s);
  auto const bye = s.receive("bye");
  ASSERT_FALSE(bye.is_null());
  EXPECT_EQ(bye.at("reason"), "shutdown");
  EXPECT_TRUE(s.receive().is_null());
}

}  // namespace websocket_cases
}  // namespace muster::web::test
