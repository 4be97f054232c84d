#include "launch/cluster/http/api_client.hpp"

#include <boost/json/parse.hpp>

#include "launch/cluster/http/json_place.hpp"
#include "launch/cluster/http/retry_after.hpp"
#include "tests/cluster/http/fixture.hpp"

namespace muster::testing {
namespace {

using cluster::api_client;
using cluster::api_limits;
using cluster::api_service;
using code = cluster_error::code;
using way = http_reply::way;

class api : public ::testing::Test {
 protected:
  api_client client(api_limits limits = {}) {
    api_service s;
    s.limits = limits;
    s.time = time_.source();
    s.token = [this] { return "token-" + std::to_string(++tokens_); };
    return api_client(s);
  }
  std::string fault(http_reply const& reply, code expected) {
    http_service const server([&](http_seen const&) { return reply; });
    auto c = client();
    auto const line = fault_of([&] { c.get(server.url() + "/x"); }, expected);
    EXPECT_EQ(line.find("GET " + server.url() + "/x: "), 0u) << line;
    return line.substr(std::min(line.size(), 4 + server.url().size() + 4));
  }

  still_time time_;
  int tokens_ = 0;
};

TEST_F(api, busy_services_and_broken_connections_are_retried) {
  http_service const server(one_by_one({{429, "slow down"},
                                        {503, ""},
                                        {200, "{}", {}, way::hang_up},
                                        {200, "[1,2,3,4,5,6]", {}, way::cut},
                                        {200, R"({"a":1})"}}));
  auto c = client();
  auto const answer = c.get(server.url() + "/x");
  EXPECT_EQ(answer.at("a").as_int64(), 1);
  ASSERT_EQ(server.seen().size(), 5u);
  EXPECT_EQ(time_.waits(), (std::vector<std::chrono::milliseconds>{250ms, 500ms, 1s, 2s}));
  // Uses the renewed token.
  EXPECT_EQ(server.seen()[0].headers.at("authorization"), "Bearer token-1");
  EXPECT_EQ(server.seen()[4].headers.at("authorization"), "Bearer token-5");
}

TEST_F(api, number_of_tries_is_limited_and_reported) {
  http_service const server([](http_seen const&) { return http_reply{503, "overloaded"}; });
  api_limits l;
  l.tries = 3;
  auto c = client(l);
  auto const line = fault_of([&] { c.get(server.url() + "/x"); }, code::unreachable);
  EXPECT_EQ(line, "GET " + server.url() + "/x: 503: overloaded");
  EXPECT_EQ(server.seen().size(), 3u);
}

TEST_F(api, stopped_server_is_unreachable_after_all_tries) {
  std::string url;
  {
    url = http_service([](http_seen const&) { return http_reply{}; }).url();
  }
  auto c = client();
  auto const line = fault_of([&] { c.get(url + "/x"); }, code::unreachable);
  EXPECT_EQ(line,
            "GET " + url + "/x: cannot reach " + url + ": connection refused (after 5 tries)");
}

TEST_F(api, the_total_time_ends_the_tries) {
  http_service const server([](http_seen const&) { return http_reply{503, "no"}; });
  api_limits l;
  l.tries = 1000;
  l.total = 30s;
  auto c = client(l);
  fault_of([&] { c.get(server.url() + "/x"); }, code::unreachable);
  // 0.25 + 0.5 + 1 + 2 + 4 + 8 + 8 = 23.75 s; another 8 s would be too long.
  EXPECT_EQ(server.seen().size(), 8u);
}

TEST_F(api, waits_for_the_time_in_retry_after) {
  http_service const server(one_by_one(
      {{429, "", {{"Retry-After", "7"}}}, {503, "", {{"Retry-After", "0"}}}, {200, "1"}}));
  auto c = client();
  c.get(server.url());
  EXPECT_EQ(time_.waits(), (std::vector<std::chrono::milliseconds>{7s, 500ms}));
}

TEST_F(api, does_not_wait_longer_than_its_total_time_allows) {
  http_service const server([](http_seen const&) {
    return http_reply{429, "come back", {{"Retry-After", "3600"}}};
  });
  auto c = client();
  auto const line = fault_of([&] { c.get(server.url() + "/x"); }, code::unreachable);
  EXPECT_TRUE(holds(line, "429: come back")) << line;
  EXPECT_EQ(server.seen().size(), 1u);
}

TEST_F(api, a_silent_server_is_left_in_time) {
  http_service const server([](http_seen const&) { return http_reply{200, "", {}, way::silent}; });
  api_limits l;
  l.one_try = 30ms;
  l.tries = 2;
  auto c = client(l);
  auto const line = fault_of([&] { c.get(server.url() + "/x"); }, code::unreachable);
  EXPECT_TRUE(holds(line, "timed out while waiting for the answer (after 2 tries)")) << line;
}

TEST_F(api, slow_answers_within_the_limit_are_fine) {
  http_service const server([](http_seen const&) {
    return http_reply{200, "[1]", {}, way::chunked, 50ms};
  });
  auto c = client();
  EXPECT_EQ(c.get(server.url()).as_array().size(), 1u);
}

TEST_F(api, error_contains_the_message_of_the_service) {
  EXPECT_EQ(fault({403, R"({"kind":"Status","message":"pods is forbidden"})"}, code::denied),
            "403: pods is forbidden");
  EXPECT_EQ(fault({404, R"({"error":{"code":404,"message":"not found: n"}})"}, code::missing),
            "404: not found: n");
  EXPECT_EQ(fault({400, R"({"error":"invalid_grant","error_description":"old"})"}, code::invalid),
            "400: old");
  EXPECT_EQ(fault({401, R"({"error":"unauthorized"})"}, code::denied), "401: unauthorized");
  EXPECT_EQ(fault({400, "<html>\n<b>bad</b>"}, code::invalid), "400: <html>");
  EXPECT_EQ(fault({410, ""}, code::missing), "410");
  EXPECT_EQ(fault({302, ""}, code::invalid), "302");
  auto const longest = fault({400, std::string(5000, 'x')}, code::invalid);
  EXPECT_LT(longest.size(), 400u);
}

TEST_F(api, client_errors_are_not_retried) {
  for (auto const status : {400u, 401u, 403u, 404u, 410u, 501u}) {
    http_service const server([&](http_seen const&) { return http_reply{status, ""}; });
    auto c = client();
    EXPECT_THROW(c.get(server.url()), cluster_error) << status;
    EXPECT_EQ(server.seen().size(), 1u) << status;
  }
}

TEST_F(api, non_idempotent_request_is_sent_once) {
  http_service const server([](http_seen const&) { return http_reply{503, ""}; });
  auto c = client();
  EXPECT_EQ(c.send({.method = "POST", .url = server.url(), .body = {}, .again = false}).status,
            503u);
  EXPECT_EQ(server.seen().size(), 1u);
}

TEST_F(api, body_that_is_not_json_is_quoted) {
  http_service const server([](http_seen const&) { return http_reply{200, "<html>sign in"}; });
  auto c = client();
  auto const line = fault_of([&] { c.get(server.url() + "/x"); });
  EXPECT_TRUE(holds(line, server.url() + "/x: not JSON")) << line;
  EXPECT_TRUE(holds(line, "'<html>sign in'")) << line;
}

TEST_F(api, untrusted_certificate_is_rejected_at_once) {
  http_service const server([](http_seen const&) { return http_reply{}; },
                            {"127.0.0.1", muster::test::self_signed()});
  auto c = client();
  auto const line = fault_of([&] { c.get(server.url()); }, code::denied);
  EXPECT_TRUE(holds(line, "the server's certificate was rejected: self-signed")) << line;
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(api, an_answer_that_is_too_long_is_refused) {
  http_service const server([](http_seen const&) {
    return http_reply{200, "\"" + std::string(cluster::api_answer_bytes_max, 'x') + "\""};
  });
  auto c = client();
  auto const line = fault_of([&] { c.get(server.url()); });
  EXPECT_TRUE(holds(line, "longer than 16777216 bytes")) << line;
}

TEST(json_place, error_names_the_place_of_the_missing_or_invalid_value) {
  auto const v = boost::json::parse(
      R"({"items":[{"name":"a","n":"12"},{"status":{"ip":7,"null":null}}],"x":"1a"})");
  cluster::json_place const top(v, "http://h/x");
  EXPECT_EQ(top.at("items").at(0).at("name").text(), "a");
  EXPECT_EQ(top.at("items").at(0).at("n").number(), 12);
  EXPECT_EQ(top.items_of("none").size(), 0u);
  EXPECT_EQ(top.at("items").items().size(), 2u);
  EXPECT_EQ(top.text_of("none"), "");
  auto const second = top.at("items").at(1);
  EXPECT_EQ(fault_of([&] { second.at("status").at("host"); }, code::missing),
            "http://h/x: items[1].status.host is missing");
  EXPECT_EQ(fault_of([&] { second.at("status").at("null"); }, code::missing),
            "http://h/x: items[1].status.null is missing");
  EXPECT_EQ(fault_of([&] { second.at("status").at("ip").text(); }),
            "http://h/x: items[1].status.ip is a number, not a string");
  EXPECT_EQ(fault_of([&] { top.at("items").at(2); }, code::missing),
            "http://h/x: items[2] is missing");
  EXPECT_EQ(fault_of([&] { top.at("items").at("a"); }),
            "http://h/x: items is a list, not an object");
  EXPECT_EQ(fault_of([&] { top.items(); }), "http://h/x: the answer is an object, not a list");
  EXPECT_EQ(fault_of([&] { top.at("x").number(); }),
            "http://h/x: x is a string, not a whole number");
}

TEST(http_times, retry_after_is_seconds_or_a_date) {
  auto const now = *cluster::parse_timestamp("2026-11-21T10:00:00Z");
  EXPECT_EQ(cluster::retry_after("5", now), 5s);
  EXPECT_EQ(cluster::retry_after(" 0 ", now), 0s);
  EXPECT_EQ(cluster::retry_after("Sat, 21 Nov 2026 10:00:30 GMT", now), 30s);
  EXPECT_EQ(cluster::retry_after("Sat, 21 Nov 2026 09:00:30 GMT", now), 0s);
  EXPECT_GT(cluster::retry_after("Sun, 01 Jan 9999 00:00:00 GMT", now), 24h * 365 * 50);
  EXPECT_EQ(cluster::retry_after("Mon, 01 Jan 0001 00:00:00 GMT", now), 0s);
  for (auto const* bad : {"", "-1", "soon", "1.5", "99999999999"})
    EXPECT_FALSE(cluster::retry_after(bad, now)) << bad;
}

TEST(http_times, timestamps_have_fractions_and_offsets) {
  auto const plain = *cluster::parse_timestamp("2026-11-21T10:00:00Z");
  EXPECT_EQ(std::chrono::system_clock::to_time_t(plain), 1795255200);
  EXPECT_EQ(cluster::parse_timestamp("2026-11-21T10:00:00.123456789Z"), plain);
  EXPECT_EQ(cluster::parse_timestamp("2026-11-21T11:30:00+01:30"), plain);
  EXPECT_EQ(cluster::parse_timestamp("2026-11-21T02:00:00-08:00"), plain);
  for (auto const* bad : {"", "2026-11-21", "2026-11-21T10:00:00", "2026-11-21T10:00:00.Z", "yes",
                          "2026-11-21T10:00:00+1:30", "2026-11-21T10:00:00+aa:bb"})
    EXPECT_FALSE(cluster::parse_timestamp(bad)) << bad;
}

}  // namespace
}  // namespace muster::testing
