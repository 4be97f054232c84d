#include "server/hub/access/token_text.hpp"
#include "tests/web/fixture.hpp"
#include "tests/web/socket.hpp"
#include "web/http/http.hpp"
#include "web/rest/sign_ins.hpp"

namespace muster::web::test {
namespace {

using namespace std::chrono_literals;

struct sign_in : web_fixture {
  http_response sign_in_with(std::string const& token, std::string const& cookie = {}) {
    return request("POST", "/api/v1/session", cookie, "{\"token\":\"" + token + "\"}");
  }
  /// Returns "name=value" of a Set-Cookie header.
  static std::string cookie_in(http_response const& r) {
    auto const set = std::string(r.header("Set-Cookie"));
    return set.substr(0, set.find(';'));
  }
  http_response request(std::string const& method, std::string const& path,
                        std::string const& cookie, std::string const& body = {}) {
    http_request r;
    r.method = method;
    r.url = url(path);
    if (!cookie.empty()) r.headers.emplace_back("Cookie", cookie);
    r.headers.emplace_back("Origin", "http://" + address());
    r.body = body;
    if (!body.empty()) r.content_type = "application/json";
    return send(r);
  }
  unsigned jobs_with(std::string const& cookie) {
    return request("GET", "/api/v1/jobs", cookie).status;
  }
  /// Returns a WebSocket that was opened with this cookie, after the server's hello.
  std::unique_ptr<socket> open_socket(std::string const& cookie) {
    socket::options o;
    o.cookie = cookie;
    auto s = std::make_unique<socket>(port(), o);
    EXPECT_EQ(s->status(), 101u);
    EXPECT_FALSE(s->receive("hello").is_null());
    return s;
  }
  static void expect_end_of_sign_in(socket& s) {
    auto const last = s.receive("err");
    ASSERT_FALSE(last.is_null());
    EXPECT_EQ(text_at(last, "/code"), "UNAUTHENTICATED");
    EXPECT_TRUE(s.receive().is_null());
    EXPECT_EQ(s.close_code(), 1008u);
  }
  static std::string id_of(std::string const& token) {
    return token.substr(7, token.rfind('.') - 7);
  }
};

TEST_F(sign_in, cookie_has_a_random_identifier_and_the_port_in_its_name) {
  start_guarded();
  auto const token = make_token(core::role::viewer);
  auto const first = cookie_in(sign_in_with(token)), second = cookie_in(sign_in_with(token));
  auto const name = "muster_session_" + std::to_string(port()) + "=";
  EXPECT_TRUE(first.starts_with(name)) << first;
  EXPECT_EQ(first.size(), name.size() + 43);
  EXPECT_NE(first, second);
  auto const secret = token.substr(token.rfind('.') + 1);
  EXPECT_EQ(first.find(secret), std::string::npos);
  EXPECT_EQ(jobs_with(first), 200u) << "each browser has its own sign-in";
  EXPECT_EQ(jobs_with(second), 200u);
  EXPECT_EQ(jobs_with("muster_session_1=" + first.substr(name.size())), 401u);
  EXPECT_EQ(jobs_with(name + token), 401u) << "a token is not a sign-in";
}

TEST_F(sign_in, request_that_ends_its_own_sign_in_gets_the_response) {
  start_guarded();
  auto const first = make_token(core::role::admin);
  auto cookie = cookie_in(sign_in_with(first));
  auto const rotated = request("POST", "/api/v1/tokens/" + id_of(first) + "/rotate", cookie);
  ASSERT_EQ(rotated.status, 200u) << rotated.body;
  EXPECT_EQ(jobs_with(cookie), 401u);
  cookie = cookie_in(sign_in_with(text_at(json::parse(rotated.body), "/token")));
  EXPECT_EQ(request("DELETE", "/api/v1/session", cookie).status, 204u);
  EXPECT_EQ(jobs_with(cookie), 401u);
}

TEST_F(sign_in, cookie_opens_the_websocket) {
  start_guarded();
  auto const cookie = cookie_in(sign_in_with(make_token(core::role::viewer)));
  raw_socket s(port());
  s.send("GET /api/v1/ws HTTP/1.1\r\nHost: " + address() + "\r\nOrigin: http://" + address() +
         "\r\nCookie: " + cookie +
         "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  EXPECT_NE(s.receive_until("\r\n\r\n").find(" 101 "), std::string::npos);
}

TEST_F(sign_in, ends_when_its_token_is_revoked_rotated_or_expired) {
  start_guarded();
  auto const revoked = make_token(core::role::viewer), rotated = make_token(core::role::viewer);
  auto const a = cookie_in(sign_in_with(revoked)), b = cookie_in(sign_in_with(rotated));
  EXPECT_EQ(jobs_with(a), 200u);
  EXPECT_EQ(jobs_with(b), 200u);
  EXPECT_EQ(send_as(admin_, "DELETE", "/api/v1/tokens/" + id_of(revoked)).status, 204u);
  EXPECT_EQ(send_as(admin_, "POST", "/api/v1/tokens/" + id_of(rotated) + "/rotate").status, 200u);
  EXPECT_EQ(jobs_with(a), 401u);
  EXPECT_EQ(jobs_with(b), 401u);
  server::token_request brief;
  brief.expires_in = 50ms;
  auto const c = cookie_in(sign_in_with(make_token(brief)));
  EXPECT_TRUE(eventually([&] { return jobs_with(c) == 401; }));
}

TEST_F(sign_in, ends_at_the_server_when_the_browser_signs_out_or_signs_in_again) {
  start_guarded();
  auto const token = make_token(core::role::viewer);
  auto const first = cookie_in(sign_in_with(token));
  auto const out = request("DELETE", "/api/v1/session", first);
  EXPECT_EQ(out.status, 204u);
  EXPECT_NE(out.header("Set-Cookie").find("Max-Age=0"), std::string::npos);
  EXPECT_EQ(jobs_with(first), 401u);
  auto const second = cookie_in(sign_in_with(token));
  auto const third = cookie_in(sign_in_with(token, second));
  EXPECT_EQ(jobs_with(second), 401u);
  EXPECT_EQ(jobs_with(third), 200u);
  EXPECT_CONTAINS(send_as(admin_, "GET", "/metrics").body, "\nmuster_sign_ins 1\n");
}

TEST_F(sign_in, websockets_are_closed_when_it_ends) {
  start_guarded();
  auto const token = make_token(core::role::viewer);
  auto const first = cookie_in(sign_in_with(token)), other = cookie_in(sign_in_with(token));
  auto const mine = open_socket(first), mine_too = open_socket(first), theirs = open_socket(other);
  socket::options o;
  o.token = token;
  socket program(port(), o);
  EXPECT_EQ(request("DELETE", "/api/v1/session", first).status, 204u);
  expect_end_of_sign_in(*mine);
  expect_end_of_sign_in(*mine_too);
  auto const again = cookie_in(sign_in_with(token, other));
  expect_end_of_sign_in(*theirs);
  auto const newest = open_socket(again);
  for (auto* s : {&program, newest.get()}) {
    s->send(R"({"t":"sub","topic":"jobs"})");
    EXPECT_FALSE(s->receive("snap", "jobs").is_null()) << "the request did not use that sign-in";
  }
}

TEST_F(sign_in, cookie_with_the_token_of_earlier_versions_is_refused_and_deleted) {
  start_guarded();
  auto const old = "muster_token=" + make_token(core::role::viewer);
  EXPECT_EQ(jobs_with(old), 401u);
  auto const seen = request("GET", "/api/v1/session", old);
  EXPECT_EQ(json::parse(seen.body).at("signed_in"), false);
  EXPECT_TRUE(seen.header("Set-Cookie").starts_with("muster_token=; "));
  EXPECT_NE(seen.header("Set-Cookie").find("Max-Age=0"), std::string::npos);
}

TEST(sign_in_cookie, has_the_host_prefix_and_secure_over_tls) {
  web_options o;
  o.tls.secure_cookies = true;
  request r;
  r.host = "[::1]:8477";
  EXPECT_EQ(sign_in_cookie_name(o, r), "__Host-muster_session_8477");
  r.host = "head.example";
  EXPECT_EQ(sign_in_cookie_name(o, r), "__Host-muster_session_443");
  o.tls.secure_cookies = false;
  EXPECT_EQ(sign_in_cookie_name(o, r), "muster_session_80");
  r.host = "head.example:80;x=1";
  EXPECT_EQ(sign_in_cookie_name(o, r), "muster_session_80") << "only digits are copied";
  o.base_path = "/a/b";
  EXPECT_EQ(sign_in_cookie_name(o, r), "muster_session_80_a_b");
  o.tls.secure_cookies = true;
  auto const set = set_cookie(o, "a", "b", 5s);
  EXPECT_EQ(set, "a=b; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=5");
}

struct sign_ins_of_tokens : ::testing::Test {
  core::caller token(std::string const& id) {
    core::token t;
    t.id = id;
    server::seal(t, "muster." + id + ".secret");
    auto who = std::make_shared<core::token const>(t);
    tokens.insert_or_assign(id, who);
    gate.publish(std::make_shared<server::token_set const>(tokens));
    return who;
  }
  bool knows(std::string const& identifier) { return table.find(identifier, gate, now) != nullptr; }
  server::gate gate{[] { return core::time_point{}; }};
  server::token_set tokens;
  sign_in_table table;
  sign_in_table::clock::time_point now{};
};

TEST_F(sign_ins_of_tokens, replace_the_least_recently_used_one_of_the_token) {
  auto const mine = token("mine"), other = token("other");
  auto const theirs = table.add(other, now);
  auto const first = table.add(mine, now), second = table.add(mine, now);
  for (std::size_t i = 2; i < sign_in_table::of_one_token_max; ++i) table.add(mine, now);
  EXPECT_TRUE(knows(first));
  table.add(mine, now);
  EXPECT_TRUE(knows(first)) << "the sign-in was used last";
  EXPECT_FALSE(knows(second));
  EXPECT_TRUE(knows(theirs)) << "the sign-in belongs to another token";
}

TEST_F(sign_ins_of_tokens, total_number_is_limited) {
  auto const first = table.add(token("first"), now);
  constexpr auto max = sign_in_table::sign_ins_max, each = sign_in_table::of_one_token_max;
  for (std::size_t i = 0; i < max / each; ++i) {
    auto const who = token("t" + std::to_string(i));
    for (std::size_t k = 0; k < each; ++k) table.add(who, now);
  }
  EXPECT_EQ(table.size(), max);
  EXPECT_FALSE(knows(first));
}

TEST_F(sign_ins_of_tokens, end_after_thirty_days) {
  auto const identifier = table.add(token("mine"), now);
  now += sign_in_table::lifetime - 1s;
  EXPECT_TRUE(knows(identifier));
  now += 1s;
  EXPECT_FALSE(knows(identifier));
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace muster::web::test
