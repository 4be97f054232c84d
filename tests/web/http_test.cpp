#include "tests/web/fixture.hpp"
#include "web/http/route.hpp"

namespace muster::web::test {
namespace http_cases {

using namespace std::chrono_literals;

class http : public web_fixture {
 protected:
  std::string exchange(std::string const& bytes) {
    raw_socket s(port());
    s.send(bytes);
    return s.receive_all();
  }
};

std::string const host = "Host: localhost\r\n";

TEST_F(http, request_in_single_bytes_is_answered) {
  start();
  raw_socket s(port());
  for (char const c : "GET /livez HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n")
    ASSERT_TRUE(s.send(std::string(1, c)));
  auto const answer = s.receive_all();
  EXPECT_EQ(answer.rfind("HTTP/1.1 200 OK\r\n", 0), 0u) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\nok\n"));
}

TEST_F(http, pipelined_requests_are_answered_in_order) {
  start();
  auto const answer =
      exchange("GET /livez HTTP/1.1\r\n" + host + "\r\nGET /api/v1/version HTTP/1.1\r\n" + host +
               "\r\nGET /nope HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n");
  auto const ok = answer.find("ok\n"), version = answer.find("\"version\""),
             nope = answer.find("404");
  EXPECT_LT(ok, version);
  EXPECT_LT(version, nope);
  EXPECT_NE(nope, std::string::npos);
}

// A proxy in front of the server could interpret the bytes after such a request differently.
TEST_F(http, ambiguous_body_length_is_a_400_and_closes_the_connection) {
  start();
  std::string const behind = "GET /livez HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n";
  struct framing {
    char const *version, *headers;
    unsigned status = 400;
  };
  for (auto const& f :
       {framing{"1.1", "Transfer-Encoding: xchunked\r\n"},
        framing{"1.1", "Transfer-Encoding: identity\r\n"},
        framing{"1.1", "Transfer-Encoding: chunked, identity\r\n"},
        framing{"1.1", "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n"},
        framing{"1.1", "Transfer-Encoding: chunked, chunked\r\n"},
        framing{"1.1", "Transfer-Encoding: chunked;q=1\r\n"},
        framing{"1.1", "Transfer-Encoding:\r\n"},
        framing{"1.1", "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n"},
        framing{"1.1", "Content-Length: 2\r\nTransfer-Encoding: identity\r\n"},
        framing{"1.1", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"},
        framing{"1.1", "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n"},
        framing{"1.1", "Transfer-Encoding: gzip, chunked\r\n", 501},
        framing{"1.0", "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n"}}) {
    SCOPED_TRACE(std::string(f.version) + " " + f.headers);
    auto const answer =
        exchange(std::string("POST /api/v1/jobs HTTP/") + f.version + "\r\n" + host +
                 "Content-Type: application/json\r\n" + f.headers + "\r\n0\r\n\r\n" + behind);
    EXPECT_EQ(count(answer, "HTTP/1.1 "), 1u) << answer;
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + std::to_string(f.status) + " ")) << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  }
  auto const good = exchange("POST /api/v1/jobs HTTP/1.1\r\n" + host +
                             "Content-Type: application/json\r\nTransfer-Encoding: Chunked\r\n\r\n"
                             "e\r\n{\"open\": true}\r\n0\r\n\r\n" +
                             behind);
  EXPECT_EQ(count(good, "HTTP/1.1 "), 2u) << good;
  EXPECT_TRUE(good.starts_with("HTTP/1.1 201 ")) << good;
}

TEST_F(http, a_thousand_requests_use_one_connection) {
  start();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(get("/api/v1/overview").status, 200u);
  EXPECT_NE(get("/metrics").body.find("muster_http_connections 1\n"), std::string::npos);
}

TEST_F(http, small_unexpected_body_keeps_the_connection_open) {
  start();
  auto const answer = exchange("GET /livez HTTP/1.1\r\n" + host +
                               "Content-Length: 4\r\n\r\nabcdGET /livez HTTP/1.1\r\n" + host +
                               "Connection: close\r\n\r\n");
  EXPECT_EQ(count(answer, "200 OK"), 2u) << answer;
}

TEST_F(http, http_1_0_is_answered_and_the_connection_is_closed) {
  start();
  auto const answer = exchange("GET /livez HTTP/1.0\r\n\r\n");
  EXPECT_NE(answer.find("200 OK"), std::string::npos);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
}

TEST_F(http, a_body_beyond_the_limit_is_a_413) {
  web_options options;
  options.body_limit_bytes = 1000;
  start(options);
  auto const r = post("/api/v1/jobs", "{\"name\":\"" + std::string(2'000'000, 'x') + "\"}");
  EXPECT_EQ(r.status, 413u);
  EXPECT_EQ(text_at(json::parse(r.body), "/limit"), "1000 bytes");
  auto const chunked = exchange("POST /api/v1/jobs HTTP/1.1\r\n" + host +
                                "Connection: close\r\nContent-Type: application/json\r\n"
                                "Transfer-Encoding: chunked\r\n\r\n"
                                "800\r\n" +
                                std::string(2048, ' ') + "\r\n0\r\n\r\n");
  EXPECT_NE(chunked.find("413 "), std::string::npos) << chunked;
  EXPECT_EQ(get("/livez").status, 200u);
}

TEST_F(http, a_header_beyond_the_limit_is_a_431) {
  start();
  auto const answer =
      exchange("GET / HTTP/1.1\r\n" + host + "X: " + std::string(100'000, 'x') + "\r\n\r\n");
  EXPECT_NE(answer.find("431 "), std::string::npos) << answer.substr(0, 200);
  EXPECT_NE(answer.find("16384 bytes"), std::string::npos);
}

TEST_F(http, invalid_http_is_a_400) {
  start();
  for (auto const* bytes :
       {"hello\r\n\r\n", "GET  /livez HTTP/1.1\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"}) {
    auto const answer = exchange(bytes);
    EXPECT_EQ(answer.rfind("HTTP/1.1 400 ", 0), 0u) << bytes << answer;
    EXPECT_NE(answer.find("INVALID_ARGUMENT"), std::string::npos);
  }
}

TEST_F(http, a_header_that_never_ends_is_cut_off) {
  web_options options;
  options.timeouts.header = 50ms;
  start(options);
  raw_socket s(port());
  s.send("GET / HTTP/1.1\r\nHost: loc");
  EXPECT_EQ(s.receive_all(), "");
}

TEST_F(http, a_body_that_never_ends_is_cut_off) {
  web_options options;
  options.timeouts.body = 50ms;
  start(options);
  raw_socket s(port());
  s.send("POST /api/v1/jobs HTTP/1.1\r\n" + host +
         "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
  s.receive_all();  // returns because the server closes
  EXPECT_EQ(get("/livez").status, 200u);
}

TEST_F(http, an_idle_connection_is_closed) {
  web_options options;
  options.timeouts.idle = 50ms;
  start(options);
  raw_socket s(port());
  EXPECT_EQ(s.receive_all(), "");
}

TEST_F(http, expect_100_continue_is_answered) {
  start();
  raw_socket s(port());
  s.send("POST /api/v1/jobs HTTP/1.1\r\n" + host +
         "Content-Type: application/json\r\nContent-Length: 13\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_NE(s.receive_until("\r\n\r\n").find("100 Continue"), std::string::npos);
  s.send("{\"open\":true}");
  EXPECT_NE(s.receive_until("\r\n\r\n").find("201 Created"), std::string::npos);
}

TEST_F(http, body_of_a_refused_request_is_not_requested) {
  start();
  raw_socket s(port());
  s.send("POST /api/v1/jobs HTTP/1.1\r\n" + host +
         "Content-Type: text/plain\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n");
  auto const answer = s.receive_until("\r\n\r\n");
  EXPECT_EQ(answer.find("100 Continue"), std::string::npos);
  EXPECT_NE(answer.find("415 "), std::string::npos);
}

TEST_F(http, head_has_the_headers_of_get_and_no_body) {
  start();
  auto const answer = exchange("HEAD /livez HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n");
  EXPECT_NE(answer.find("Content-Length: 3\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

// Returns the header without Date, `Connection: close` and the value of Content-Length. Bodies
// differ in length, since they contain times and counters.
std::string fields_of(std::string const& head) {
  std::string kept;
  for (std::size_t at = 0; at < head.size();) {
    auto const end = head.find("\r\n", at);
    auto const line = head.substr(at, end - at);
    at = end + 2;
    if (line.starts_with("Date: ") || line == "Connection: close") continue;
    kept += line.starts_with("Content-Length: ") ? "Content-Length" : line;
    kept += '\n';
  }
  return kept;
}

TEST_F(http, head_of_every_resource_has_the_fields_of_get) {
  start();
  auto const job = text_at(submit(3), "/id");
  EXPECT_EQ(post("/api/v1/jobs/" + job + "/cancel").status, 200u);  // lets join return
  auto paths = std::vector<std::string>{"/", "/nothing", "/api/v1/nothing"};
  for (auto const& r : all_routes()) {
    std::string path(r.pattern);
    if (r.method != "GET" || path == "/api/v1/ws") continue;
    if (path.starts_with("/api/v1/jobs/{id}")) path.replace(path.find("{id}"), 4, job);
    if (path.find('{') == std::string::npos) paths.push_back(path);
  }
  ASSERT_GT(paths.size(), 25u);
  // Uses one connection: a body after a HEAD answer would break the next answer.
  raw_socket s(port());
  for (auto const& path : paths) {
    s.send("HEAD " + path + " HTTP/1.1\r\n" + host + "\r\n");
    auto const head = s.receive_until("\r\n\r\n");
    ASSERT_TRUE(head.ends_with("\r\n\r\n")) << path << head;
    auto const whole =
        exchange("GET " + path + " HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n");
    EXPECT_EQ(fields_of(head), fields_of(whole.substr(0, whole.find("\r\n\r\n") + 4))) << path;
  }
}

TEST_F(http, options_lists_the_methods) {
  start();
  auto const r = send("OPTIONS", "/api/v1/jobs");
  EXPECT_EQ(r.status, 204u);
  EXPECT_EQ(r.header("Allow"), "POST, GET, HEAD, OPTIONS");
  EXPECT_EQ(send("OPTIONS", "/api/v1/nothing").status, 404u);
}

TEST_F(http, trailing_slashes_are_accepted) {
  start();
  EXPECT_EQ(get("/api/v1/jobs/").status, 200u);
  EXPECT_EQ(get("/livez/").status, 200u);
}

std::string with_host(std::string const& name) {
  return "GET /livez HTTP/1.1\r\nHost: " + name + "\r\nConnection: close\r\n\r\n";
}

TEST_F(http, loopback_answers_only_allowed_host_names) {
  web_options options;
  options.allowed_hosts = {"muster.internal"};
  start(options);
  for (auto const* good : {"localhost", "localhost:8477", "LOCALHOST", "127.0.0.1:1", "[::1]:2",
                           "muster.internal", "Muster.Internal:80"})
    EXPECT_NE(exchange(with_host(good)).find("200 OK"), std::string::npos) << good;
  for (auto const* bad : {"evil.example", "evil.example:8477", "localhost.evil.example",
                          "127.0.0.1.evil.example", "muster"})
    EXPECT_NE(exchange(with_host(bad)).find("421 "), std::string::npos) << bad;
  EXPECT_NE(exchange("GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n").find("400 "),
            std::string::npos);
}

TEST_F(http, requests_of_other_origins_cannot_change_anything) {
  web_options options;
  options.allowed_origins = {"https://ops.example"};
  start(options);
  auto const post_from = [&](std::string const& origin) {
    http_request r;
    r.method = "POST";
    r.url = url("/api/v1/jobs");
    r.body = "{\"open\":true}";
    r.headers.emplace_back("Origin", origin);
    return send(r).status;
  };
  EXPECT_EQ(post_from("http://" + address()), 201u);
  EXPECT_EQ(post_from("https://ops.example"), 201u);
  for (auto const* bad : {"http://evil.example", "null", "http://127.0.0.1:1", "http://localhost"})
    EXPECT_EQ(post_from(bad), 403u) << bad;
  http_request look;
  look.url = url("/api/v1/overview");
  look.headers.emplace_back("Origin", "http://evil.example");
  EXPECT_EQ(send(look).status, 200u);
}

TEST_F(http, connections_beyond_the_limit_wait) {
  web_options options;
  options.connections_max = 2;
  start(options);
  auto a = std::make_unique<raw_socket>(port());
  raw_socket b(port());
  a->send("GET /livez HTTP/1.1\r\n" + host + "\r\n");
  EXPECT_NE(a->receive_until("ok\n").find("200 OK"), std::string::npos);
  b.send("GET /livez HTTP/1.1\r\n" + host + "\r\n");
  EXPECT_NE(b.receive_until("ok\n").find("200 OK"), std::string::npos);
  raw_socket c(port());
  c.send("GET /livez HTTP/1.1\r\n" + host + "\r\n");
  a.reset();
  EXPECT_NE(c.receive_until("ok\n").find("200 OK"), std::string::npos);
}

TEST_F(http, answers_are_counted_by_status) {
  start();
  get("/livez");
  get("/nope");
  auto const text = get("/metrics").body;
  EXPECT_NE(text.find("muster_http_requests_total{code=\"200\"} 1\n"), std::string::npos) << text;
  EXPECT_EQ(count(text, "muster_http_requests_total{code=\"404\"} 1\n"), 1u);
}

TEST_F(http, port_in_use_is_named) {
  start();
  web_options options;
  options.port = static_cast<unsigned short>(port());
  web_server second(options, core_engine().gateway());
  auto const bound = second.listen();
  ASSERT_FALSE(bound);
  EXPECT_EQ(
      bound.error().message,
      "cannot listen on 127.0.0.1:" + std::to_string(port()) +
          ": another program is using the port; stop it ('ss -ltnp' lists it), or choose another "
          "port");
  options.address = "no such host";
  web_server third(options, core_engine().gateway());
  EXPECT_FALSE(third.listen());
}

}  // namespace http_cases
}  // namespace muster::web::test
