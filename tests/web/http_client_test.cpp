#include "base/http_client/http_client.hpp"

#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

using namespace std::chrono_literals;

class client : public web_fixture {
 protected:
  http_error error_of(std::string const& target, std::chrono::milliseconds timeout = 5s) {
    http_request r;
    r.url = target;
    r.timeout = timeout;
    auto const answer = client_.send(r);
    EXPECT_FALSE(answer);
    return answer ? http_error{} : answer.error();
  }
};

TEST_F(client, unreachable_server_is_named) {
  start();
  auto const target = url("");
  stop_web();
  server_.reset();
  auto const e = error_of(target + "/api/v1/jobs");
  EXPECT_EQ(e.code, muster::code::unavailable);
  EXPECT_EQ(e.failure, http_failure::refused);
  EXPECT_EQ(e.message, "cannot reach " + target + ": connection refused");
}

TEST_F(client, invalid_urls_are_refused_with_a_reason) {
  for (auto const* bad :
       {"", "localhost:8477", "https://", "http://", "http://:80", "http://host:0", "http://[::1]x",
        "http://host:70000", "http://host:x", "http://[::1", "http://host/a b", "ftp://host"}) {
    auto const e = error_of(bad);
    EXPECT_EQ(e.code, muster::code::invalid_argument) << bad;
    EXPECT_EQ(e.failure, http_failure::bad_url) << bad;
  }
}

TEST_F(client, silent_server_causes_deadline_exceeded) {
  start();
  submit(1);
  auto const e = error_of(url("/api/v1/jobs/job_0000000000000001/join?timeout=60s"), 50ms);
  EXPECT_EQ(e.code, muster::code::deadline_exceeded);
  EXPECT_EQ(e.failure, http_failure::timed_out);
  EXPECT_EQ(get("/livez").status, 200u);
}

TEST_F(client, reconnects_when_the_server_has_closed_the_connection) {
  web_options options;
  options.timeouts.idle = 20ms;
  start(options);
  EXPECT_EQ(get("/livez").status, 200u);
  raw_socket other(port());
  other.receive_all();  // the server closes the client's idle connection, too
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get("/livez").status, 200u);
}

TEST_F(client, sends_a_token_and_headers) {
  start();
  http_request r;
  r.url = url("/api/v1/version");
  r.token = "secret";
  r.headers.emplace_back("X-Extra", "1");
  EXPECT_EQ(send(r).status, 200u);
}

TEST_F(client, stream_can_be_closed_early) {
  start();
  auto const job = submit(5'000);
  http_request r;
  r.url = url("/api/v1/jobs/" + text_at(job, "/id") + "/results");
  int lines = 0;
  auto const answer = client_.stream(r, [&](std::string_view) { return ++lines < 3; });
  EXPECT_TRUE(answer);
  EXPECT_EQ(lines, 3);
  EXPECT_EQ(get("/livez").status, 200u);
}

TEST_F(client, refused_stream_returns_the_problem) {
  start();
  http_request r;
  r.url = url("/api/v1/jobs/job_00000000000000ff/results");
  auto const answer = client_.stream(r, [](std::string_view) { return true; });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404u);
  EXPECT_NE(answer->body.find("NOT_FOUND"), std::string::npos);
}

}  // namespace
}  // namespace muster::web::test
