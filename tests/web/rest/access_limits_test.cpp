#include <deque>

#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

struct access_limits : web_fixture {
  /// Sends a request `times` times, all before the first answer. Returns the answers.
  std::vector<std::string> post_at_once(int times, std::string const& token,
                                        std::string const& path, std::string const& body) {
    std::deque<raw_socket> all;
    for (int i = 0; i < times; ++i)
      all.emplace_back(port()).send("POST " + path +
                                    " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                    "Content-Type: application/json\r\nAuthorization: Bearer " +
                                    token + "\r\nContent-Length: " + std::to_string(body.size()) +
                                    "\r\n\r\n" + body);
    std::vector<std::string> answers;
    for (auto& s : all) answers.push_back(s.receive_all());
    return answers;
  }
};

std::string closures(int n) {
  std::string all;
  for (int i = 0; i < n; ++i) all += std::string(i ? "," : "") + R"({"function":"f"})";
  return "[" + all + "]";
}

TEST_F(access_limits, apply_to_concurrent_requests) {
  start_guarded();
  server::token_request w;
  w.role = core::role::submitter;
  w.queued_max = 100;
  w.sessions_max = 30;
  auto const taken = [&](std::string const& token, std::string const& path, std::string const& body,
                         std::string const& good) {
    std::size_t n = 0;
    for (auto const& answer : post_at_once(50, token, path, body)) {
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

TEST_F(access_limits, unfinished_programs_count_as_sessions) {
  start_guarded();
  server::token_request w;
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

TEST_F(access_limits, repeated_program_returns_the_first_even_at_the_limit) {
  start_guarded();
  server::token_request w;
  w.role = core::role::submitter;
  w.sessions_max = 1;
  w.allow_exec = true;
  auto const t = make_token(w);
  auto const submit = [&](std::string const& key) {
    return send_as(t, "POST", "/api/v1/programs",
                   R"({"command":["true"],"tasks":{"worker":1},"idempotency_key":")" + key + "\"}");
  };
  auto const first = submit("once");
  ASSERT_EQ(first.status, 201u) << first.body;
  auto const again = submit("once");
  ASSERT_EQ(again.status, 200u) << again.body;
  EXPECT_EQ(text_at(json::parse(again.body), "/id"), text_at(json::parse(first.body), "/id"));
  EXPECT_EQ(submit("other").status, 429u);
}

TEST_F(access_limits, repeated_submission_returns_the_first_job_even_at_the_limit) {
  start_guarded();
  server::token_request w;
  w.role = core::role::submitter;
  w.sessions_max = 1;
  w.queued_max = 3;
  auto const t = make_token(w);
  auto const submit = [&](std::string const& key) {
    return send_as(t, "POST", "/api/v1/jobs",
                   R"({"closures":)" + closures(3) + R"(,"idempotency_key":")" + key + "\"}");
  };
  auto const first = submit("once");
  ASSERT_EQ(first.status, 201u) << first.body;
  auto const again = submit("once");
  ASSERT_EQ(again.status, 200u) << again.body;
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(submit("other").status, 429u);
}

TEST_F(access_limits, concurrent_submissions_with_one_key_count_once) {
  start_guarded();
  server::token_request w;
  w.role = core::role::submitter;
  w.sessions_max = 1;
  w.allow_exec = true;
  for (auto const& [path, content] :
       {std::pair("jobs", R"("open":true)"),
        std::pair("programs", R"("command":["true"],"tasks":{"worker":1})")}) {
    auto const token = make_token(w);
    auto const body = std::string("{") + content + R"(,"idempotency_key":"once"})";
    for (auto const& answer : post_at_once(10, token, std::string("/api/v1/") + path, body))
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 20")) << path;
  }
}

TEST_F(access_limits, resent_closures_do_not_count_twice) {
  start_guarded();
  server::token_request w;
  w.role = core::role::submitter;
  w.queued_max = 4;
  auto const t = make_token(w);
  auto const open = json::parse(send_as(t, "POST", "/api/v1/jobs", R"({"open":true})").body);
  auto const path = "/api/v1/jobs/" + std::string(open.at("id").as_string()) + "/closures?first=";
  auto const append = [&](int first, int n) {
    return send_as(t, "POST", path + std::to_string(first), closures(n));
  };
  ASSERT_EQ(append(0, 3).status, 200u);
  auto const again = append(0, 4);
  EXPECT_EQ(again.status, 200u) << again.body;
  EXPECT_EQ(append(0, 4).status, 200u);
  EXPECT_EQ(append(3, 2).status, 429u) << "the second closure is new";
}

TEST_F(access_limits, ranks_and_per_worker_values_count_as_queued_closures) {
  start_guarded();
  server::token_request w;
  w.role = core::role::submitter;
  w.queued_max = 5;
  w.allow_exec = true;
  auto const t = make_token(w);
  auto const submit = [&](int ranks) {
    return send_as(t, "POST", "/api/v1/programs",
                   R"({"command":["true"],"tasks":{"worker":)" + std::to_string(ranks) + "}}");
  };
  auto const refused = submit(4000);
  EXPECT_EQ(refused.status, 429u);
  EXPECT_CONTAINS(refused.body, "its limit is 5 (queued_max)");
  auto const program = submit(3);
  ASSERT_EQ(program.status, 201u) << program.body;
  auto const build = [&] {
    return send_as(t, "POST", "/api/v1/per_worker_values", R"({"function":"f"})");
  };
  auto const value = build();
  ASSERT_EQ(value.status, 201u) << value.body;
  EXPECT_EQ(build().status, 201u);
  auto const full = build();
  EXPECT_EQ(full.status, 429u);
  EXPECT_CONTAINS(
      full.body, "has 0 queued closures, 3 ranks of programs, 2 per-worker values, its limit is 5");
  EXPECT_EQ(send_as(t, "POST", "/api/v1/jobs", R"({"closures":)" + closures(1) + "}").status, 429u);
  auto const id = text_at(json::parse(value.body), "/id");
  EXPECT_EQ(send_as(t, "DELETE", "/api/v1/per_worker_values/" + id).status, 204u);
  EXPECT_EQ(build().status, 201u);
  auto const path = "/api/v1/programs/" + text_at(json::parse(program.body), "/id");
  EXPECT_EQ(send_as(t, "POST", path + "/cancel").status, 200u);
  EXPECT_EQ(submit(3).status, 201u);
}

TEST_F(access_limits, blobs_count_as_value_bytes_of_the_uploading_token) {
  start_guarded();
  server::token_request w;
  w.role = core::role::submitter;
  w.value_bytes_max = 5;
  auto const t = make_token(w);
  auto const put = [&](std::string const& token, std::string const& name, std::string const& bytes,
                       bool in_chunks = false) {
    raw_socket s(port());
    auto const size = std::to_string(bytes.size());
    s.send("PUT /api/v1/blobs/" + name + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
           "Content-Type: application/octet-stream\r\nAuthorization: Bearer " + token + "\r\n" +
           (in_chunks
                ? "Transfer-Encoding: chunked\r\n\r\n" + size + "\r\n" + bytes + "\r\n0\r\n\r\n"
                : "Content-Length: " + size + "\r\n\r\n" + bytes));
    return s.receive_all();
  };
  std::string const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  std::string const abcdef = "bef57ec7f53a6d40beb640a780a639c83bc29ac8a9816f1fc6c5c6dcd93c4721";
  EXPECT_TRUE(put(t, abc, "abc").starts_with("HTTP/1.1 201"));
  for (bool const in_chunks : {false, true}) {
    auto const refused = put(t, abcdef, "abcdef", in_chunks);
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 429")) << refused;
    EXPECT_CONTAINS(refused, "has 3 bytes of values, its limit is 5 (value_bytes_max)");
  }
  EXPECT_TRUE(put(t, abc, "abc").starts_with("HTTP/1.1 200")) << "an existing blob needs no room";
  EXPECT_TRUE(put(admin_, abcdef, "abcdef").starts_with("HTTP/1.1 201")) << "an upload that failed "
                                                                            "leaves nothing";
  EXPECT_TRUE(put(t, abcdef, "abcdef").starts_with("HTTP/1.1 200"))
      << "the blob belongs to an admin";
}

TEST_F(access_limits, retry_counts_against_the_requesting_token) {
  start_guarded();
  server::token_request w;
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
  // A retry by another user counts against that user's limit.
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
