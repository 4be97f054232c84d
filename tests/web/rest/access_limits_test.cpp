// What one token may have at one time, over REST.
#include <deque>

#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

struct access_limits : web_fixture {};

/// So many as a list in JSON.
std::string closures(int n) {
  std::string all;
  for (int i = 0; i < n; ++i) all += std::string(i ? "," : "") + R"({"function":"f"})";
  return "[" + all + "]";
}

// All of them are on their way before one is answered.
TEST_F(access_limits, hold_against_requests_beside_each_other) {
  start_guarded();
  server::wanted_token w;
  w.role = core::role::submitter;
  w.queued_max = 100;
  w.sessions_max = 30;
  auto const taken = [&](std::string const& token, std::string const& path, std::string const& body,
                         std::string const& good) {
    std::deque<raw_socket> all;
    for (int i = 0; i < 50; ++i)
      all.emplace_back(port()).send("POST " + path +
                                    " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                    "Content-Type: application/json\r\nAuthorization: Bearer " +
                                    token + "\r\nContent-Length: " + std::to_string(body.size()) +
                                    "\r\n\r\n" + body);
    std::size_t n = 0;
    for (auto& s : all) {
      auto const answer = s.receive_all();
      bool const ok = answer.starts_with("HTTP/1.1 " + good);
      EXPECT_TRUE(ok || answer.starts_with("HTTP/1.1 429 ")) << answer;
      n += ok ? 1 : 0;
    }
    return n;
  };
  auto const jobs = make_token(w);
  EXPECT_EQ(taken(jobs, "/api/v1/jobs", R"({"closures":)" + closures(10) + "}", "201"), 10u);
  auto const empty = make_token(w);
  EXPECT_EQ(taken(empty, "/api/v1/jobs", R"({"open":true})", "201"), 30u);
  auto const appending = make_token(w);
  auto const open =
      json::parse(send_as(appending, "POST", "/api/v1/jobs", R"({"open":true})").body);
  auto const id = std::string(open.at("id").as_string());
  EXPECT_EQ(taken(appending, "/api/v1/jobs/" + id + "/closures", closures(10), "200"), 10u);
}

TEST_F(access_limits, programs_that_have_not_ended_count_as_sessions) {
  start_guarded();
  server::wanted_token w;
  w.role = core::role::submitter;
  w.sessions_max = 2;
  w.allow_exec = true;
  auto const t = make_token(w);
  auto const submit = [&] {
    return send_as(t, "POST", "/api/v1/programs", R"({"command":["true"],"tasks":{"worker":1}})");
  };
  auto const first = submit();
  ASSERT_EQ(first.status, 201u) << first.body;
  EXPECT_EQ(send_as(t, "POST", "/api/v1/jobs", R"({"open":true})").status, 201u);
  EXPECT_EQ(submit().status, 429u);
  auto const path = "/api/v1/programs/" + std::string(json::parse(first.body).at("id").as_string());
  EXPECT_EQ(send_as(t, "POST", path + "/cancel").status, 200u);
  EXPECT_EQ(submit().status, 201u) << "the first has ended";
}

TEST_F(access_limits, a_retry_is_the_askers_and_within_theirs) {
  start_guarded();
  server::wanted_token w;
  w.role = core::role::submitter;
  w.sessions_max = 2;
  w.queued_max = 20;
  auto const t = make_token(w);
  auto const cancelled = [&] {
    auto const job = json::parse(
        send_as(t, "POST", "/api/v1/jobs", R"({"closures":)" + closures(15) + "}").body);
    auto const path = "/api/v1/jobs/" + std::string(job.at("id").as_string());
    EXPECT_EQ(send_as(t, "POST", path + "/cancel").status, 200u);
    return path;
  }();
  EXPECT_EQ(send_as(t, "POST", cancelled + "/retry").status, 201u);
  auto const refused = send_as(t, "POST", cancelled + "/retry");
  EXPECT_EQ(refused.status, 429u);
  EXPECT_NE(refused.body.find("15 queued closures, its limit is 20"), std::string::npos)
      << refused.body;
  // It takes nothing from whoever submitted the first.
  auto const again = send_as(admin_, "POST", cancelled + "/retry");
  ASSERT_EQ(again.status, 201u) << again.body;
  auto const path = "/api/v1/jobs/" + std::string(json::parse(again.body).at("id").as_string());
  auto const by =
      std::string(json::parse(send_as(t, "GET", path).body).at("submitted_by").as_string());
  EXPECT_TRUE(admin_.starts_with("muster." + by + ".")) << by;
  EXPECT_EQ(send_as(t, "POST", path + "/cancel").status, 403u);
}

}  // namespace
}  // namespace muster::web::test
