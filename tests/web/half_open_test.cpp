#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace half_open_cases {

using namespace std::chrono_literals;

class half_open : public web_fixture {
 protected:
  std::int64_t metric(std::string const& name) {
    auto const text = get("/metrics").body;
    auto const at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stoll(text.substr(at + name.size() + 2));
  }
};

std::string const host = "Host: localhost\r\n";
std::string const half_a_request = "GET /livez HTTP/1.1\r\nHost: loc";
std::string const other_half = "alhost\r\n\r\n";
std::string const whole_request = half_a_request + other_half;

std::string const half_open_now = "muster_half_open_connections{port=\"http\"}";

std::string dropped(std::string const& reason) {
  return "muster_connections_dropped_total{port=\"http\",reason=\"" + reason + "\"}";
}

TEST_F(half_open, silent_connection_is_closed_after_the_header_timeout) {
  web_options options;
  options.timeouts.header = 50ms;
  options.timeouts.idle = 1h;
  start(options);
  raw_socket s(port());
  EXPECT_EQ(s.receive_all(), "");
  EXPECT_EQ(metric(dropped("header_timeout")), 1);
}

TEST_F(half_open, slow_header_is_closed) {
  web_options options;
  options.timeouts.header = 200ms;
  start(options);
  raw_socket s(port());
  std::thread trickle([&s] {
    while (s.send("x")) std::this_thread::sleep_for(5ms);
  });
  trickle.join();  // ends because the server closes
  EXPECT_EQ(metric(dropped("header_timeout")), 1);
}

TEST_F(half_open, idle_connection_outlives_the_header_timeout) {
  web_options options;
  options.timeouts.header = 50ms;
  start(options);
  raw_socket s(port());
  s.send(whole_request);
  EXPECT_NE(s.receive_until("ok\n").find("200 OK"), std::string::npos);
  for (int i = 0; i < 2; ++i) {  // the time of two headers
    raw_socket silent(port());
    EXPECT_EQ(silent.receive_all(), "");
  }
  s.send(whole_request);
  EXPECT_NE(s.receive_until("ok\n").find("200 OK"), std::string::npos);
}

TEST_F(half_open, slow_body_is_closed) {
  web_options options;
  options.timeouts.body = 200ms;
  start(options);
  raw_socket s(port());
  s.send("POST /api/v1/jobs HTTP/1.1\r\n" + host +
         "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n");
  std::thread trickle([&s] {
    while (s.send(" ")) std::this_thread::sleep_for(5ms);
  });
  trickle.join();  // ends because the server closes
  EXPECT_EQ(metric(dropped("body_timeout")), 1);
  EXPECT_EQ(metric(half_open_now), 0);
}

TEST_F(half_open, oldest_half_request_of_an_address_is_closed_for_the_next) {
  web_options options;
  options.half_open_per_address_max = 2;
  start(options);
  raw_socket a(port()), b(port());
  a.send(half_a_request);
  b.send(half_a_request);
  raw_socket c(port());
  EXPECT_EQ(a.receive_all(), "");
  b.send(other_half);
  EXPECT_NE(b.receive_until("ok\n").find("200 OK"), std::string::npos);
  c.send(whole_request);
  EXPECT_NE(c.receive_until("ok\n").find("200 OK"), std::string::npos);
  EXPECT_EQ(metric(dropped("address_limit")), 1);
}

TEST_F(half_open, connections_with_complete_requests_are_not_half_open) {
  web_options options;
  options.half_open_per_address_max = 1;
  start(options);
  std::vector<std::unique_ptr<raw_socket>> all;
  for (int i = 0; i < 20; ++i) {
    auto& s = *all.emplace_back(std::make_unique<raw_socket>(port()));
    s.send(whole_request);
    EXPECT_NE(s.receive_until("ok\n").find("200 OK"), std::string::npos);
  }
  for (auto& s : all) {
    s->send(whole_request);
    EXPECT_NE(s->receive_until("ok\n").find("200 OK"), std::string::npos);
  }
}

TEST_F(half_open, connection_with_the_least_of_its_request_is_closed_when_full) {
  web_options options;
  options.connections_max = 4;
  start(options);
  raw_socket kept(port());
  kept.send(whole_request);
  kept.receive_until("ok\n");
  raw_socket body(port());
  body.send("POST /api/v1/jobs HTTP/1.1\r\n" + host +
            "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
  raw_socket older(port()), younger(port());
  older.send(half_a_request);
  younger.send(half_a_request);
  std::vector<std::unique_ptr<raw_socket>> next;
  for (auto* goes : {&older, &younger, &body}) {
    auto& s = *next.emplace_back(std::make_unique<raw_socket>(port()));
    s.send(whole_request);
    EXPECT_NE(s.receive_until("ok\n").find("200 OK"), std::string::npos);
    EXPECT_EQ(goes->receive_all().find("200 OK"), std::string::npos);
  }
  kept.send(whole_request);
  EXPECT_NE(kept.receive_until("ok\n").find("200 OK"), std::string::npos);
  EXPECT_EQ(metric(half_open_now), 0);
}

TEST_F(half_open, longest_idle_connection_is_closed_when_none_is_half_open) {
  web_options options;
  options.connections_max = 2;
  start(options);
  raw_socket a(port()), b(port());
  for (auto* s : {&a, &b, &a}) {
    s->send(whole_request);
    s->receive_until("ok\n");
  }
  raw_socket c(port());
  c.send(whole_request);
  EXPECT_NE(c.receive_until("ok\n").find("200 OK"), std::string::npos);
  EXPECT_EQ(b.receive_all(), "");
  a.send(whole_request);
  EXPECT_NE(a.receive_until("ok\n").find("200 OK"), std::string::npos);
}

TEST_F(half_open, thousands_of_half_requests_leave_room_for_a_complete_one) {
  web_options options;
  options.connections_max = 64;
  options.half_open_per_address_max = 16;
  start(options);
  std::vector<std::unique_ptr<raw_socket>> flood;
  for (int i = 0; i < 2'000; ++i) {
    flood.push_back(std::make_unique<raw_socket>(port()));
    flood.back()->send(half_a_request);
    if (i % 100 != 0) continue;
    raw_socket s(port());
    s.send(whole_request);
    EXPECT_NE(s.receive_until("ok\n").find("200 OK"), std::string::npos) << i;
  }
}

}  // namespace half_open_cases
}  // namespace muster::web::test
