#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

struct bad_request {
  char const* method;
  char const* path;
  char const* type;
  std::string body;
  unsigned status;
  char const* detail;  // a part of the answer's detail
};

class malformed : public web_fixture {};

std::vector<bad_request> bad_requests() {
  auto const* json = "application/json";
  auto const* jobs = "/api/v1/jobs";
  return {
      {"POST", jobs, json, "", 400, "expected JSON, got an empty body"},
      {"POST", jobs, json, "{", 400, "malformed JSON at line 1"},
      {"POST", jobs, json, "{\"closures\":[}", 400, "line 1, column 14"},
      {"POST", jobs, json, "\xff\xfe", 400, "malformed JSON"},
      {"POST", jobs, json, std::string(10'000, '['), 400, "deep"},
      {"POST", jobs, json, R"({"open":true,"open":false})", 400, "open: this member is repeated"},
      {"POST", jobs, json, R"({"map":{"function":"f","args":[[1e999]]}})", 400,
       "the number at line 1, column"},
      {"POST", jobs, json, "[]", 400, "expected an object, got array"},
      {"POST", jobs, json, R"({"closures":[{"function":"f","args":"x"}]})", 400,
       "closures[0].args: expected an array, got string"},
      {"POST", jobs, json, R"({"closures":[{"function":""}]})", 400, "function: required"},
      {"POST", jobs, json, R"({"closures":[{"function":"a\u0001b"}]})", 400, "control character"},
      {"POST", jobs, json, R"({"closures":[],"surprise":1})", 400, "surprise: unknown field"},
      {"POST", jobs, json,
       R"({"closures":[{"function":"nobody.has"}],"options":{"require_function":true}})", 422,
       "nobody.has"},
      {"POST", jobs, json, R"({"closures":[{"function":"f","args":[{"$per_worker":"pw_1"}]}]})",
       400, "closures[0].args[0].$per_worker: expected"},
      {"POST", jobs, json,
       R"({"closures":[{"function":"f","args":[{"$per_worker":"pw_0000000000000001"}]}]})", 404,
       "there is no pw_0000000000000001"},
      {"POST", jobs, json,
       R"({"closures":[{"function":"f"},
           {"function":"f","args":[{"$remote_value":"rv_0000000000000000"}]}]})",
       404, "there is no rv_0000000000000000"},
      {"POST", "/api/v1/per_worker_values", json, "{}", 400, "function: required"},
      {"POST", "/api/v1/per_worker_values", json, R"({"function":"f","x":1})", 400,
       "x: unknown field"},
      {"POST", "/api/v1/per_worker_values", json,
       R"({"function":"f","args":[{"$remote_value":"#0"}]})", 400,
       "the arguments of a builder cannot contain references"},
      {"GET", "/api/v1/per_worker_values/pw_1", "", "", 404, "pw_1"},
      {"DELETE", "/api/v1/per_worker_values/pw_0000000000000001", "", "", 404, "there is no"},
      {"POST", jobs, json, R"({"cluster":"mars","closures":[]})", 404, "mars"},
      {"POST", jobs, "text/plain", "{}", 415, "Content-Type: expected application/json"},
      {"POST", jobs, "application/x-ndjson", "{}", 415, "application/json"},
      {"POST", "/api/v1/jobs?x=1", json, "{}", 400, "x: unknown parameter"},
      {"POST", "/api/v1/jobs/job_0000000000000001/closures", json, "{}", 400,
       "expected an array, got object"},
      {"GET", "/api/v1/jobs?limit=0", "", "", 400, "limit: expected a number from 1 to 1000"},
      {"GET", "/api/v1/jobs?limit=1001", "", "", 400, "limit"},
      {"GET", "/api/v1/jobs?limit=ten", "", "", 400, "limit"},
      {"GET", "/api/v1/jobs?page_token=zzz", "", "", 400, "page_token"},
      {"GET", "/api/v1/jobs?limit=1&limit=2", "", "", 400,
       "limit: this parameter is repeated; send it once"},
      {"GET", "/api/v1/jobs?limit=%zz", "", "", 400, "escape"},
      {"GET", "/api/v1/jobs/job_0000000000000001/join?timeout=soon", "", "", 400,
       "timeout: expected a duration such as 30s or 250ms, got 'soon'"},
      {"GET", "/api/v1/jobs/job_0000000000000001/join?timeout=-1s", "", "", 400, "timeout"},
      {"GET", "/api/v1/jobs/job_0000000000000001/results?wait=perhaps", "", "", 400, "wait"},
      {"GET", "/api/v1/jobs/job_0000000000000001/closures?state=OK", "", "", 400, "state"},
      {"GET", "/api/v1/nothing", "", "", 404, "there is no GET /api/v1/nothing"},
      {"GET", "/api", "", "", 404, "there is no"},
      {"GET", "/nothing.js", "", "", 404, "there is no"},
      {"PUT", jobs, json, "{}", 405, "POST, GET, HEAD, OPTIONS"},
      {"DELETE", "/metrics", "", "", 405, "GET"},
      {"BREW", "/livez", "", "", 405, "GET"},
      {"POST", "/", json, "{}", 405, "GET"},
      {"GET", "/api/v1/ws", "", "", 426, "WebSocket"},
  };
}

TEST_F(malformed, requests_are_answered_with_a_problem_and_the_server_continues) {
  start();
  submit(1);
  for (auto const& b : bad_requests()) {
    SCOPED_TRACE(std::string(b.method) + " " + b.path + " " + b.body.substr(0, 80));
    auto const r = send(b.method, b.path, b.body, b.type);
    EXPECT_EQ(r.status, b.status) << r.body;
    EXPECT_EQ(r.header("Content-Type"), "application/problem+json");
    boost::system::error_code ec;
    auto const v = json::parse(r.body, ec);
    ASSERT_FALSE(ec) << r.body;
    EXPECT_EQ(number_at(v, "/status"), b.status);
    EXPECT_FALSE(text_at(v, "/title").empty());
    EXPECT_FALSE(text_at(v, "/code").empty());
    EXPECT_NE(text_at(v, "/detail").find(b.detail), std::string::npos) << r.body;
    EXPECT_EQ(b.status == 405, !r.header("Allow").empty());
    EXPECT_EQ(get("/livez").status, 200u);
  }
}

TEST_F(malformed, missing_member_is_the_field_of_the_problem) {
  start();
  auto const job = text_at(json::parse(post("/api/v1/jobs", R"({"open":true})").body), "/id");
  struct missing_member {
    std::string path, body;
    char const* field;
  };
  missing_member const cases[] = {
      {"/api/v1/jobs",
       R"({"closures":[{"function":"f"},{"function":"f"},{"function":"f"},{"args":[1]}]})",
       "closures[3].function"},
      {"/api/v1/jobs", R"({"map":{"args":[]}})", "map.function"},
      {"/api/v1/jobs", R"({"map":{"function":"f"}})", "map.args"},
      {"/api/v1/jobs/" + job + "/closures", R"([{"function":"f"},{}])", "[1].function"},
      {"/api/v1/per_worker_values", "{}", "function"},
      {"/api/v1/per_worker_values", R"({"function":"","args":[1]})", "function"},
  };
  for (auto const& c : cases) {
    auto const r = post(c.path, c.body);
    EXPECT_EQ(r.status, 400u) << c.body;
    EXPECT_EQ(text_at(json::parse(r.body), "/field"), c.field) << r.body;
  }
}

TEST_F(malformed, random_bytes_never_stop_the_server) {
  start();
  std::uint64_t seed = 3;
  auto const next = [&] {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<char>(seed >> 56);
  };
  for (int round = 0; round < 200; ++round) {
    raw_socket s(port());
    std::string bytes = round % 3 == 0 ? "GET / HTTP/1.1\r\nHost: localhost\r\n" : "";
    if (round % 3 == 1)
      bytes =
          "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
          "application/json\r\nContent-Length: 64\r\n\r\n";
    for (int i = 0; i < 64; ++i) bytes += next();
    s.send(bytes);
    s.shut_down_send();
    s.receive_all();
  }
  EXPECT_EQ(get("/livez").status, 200u);
}

TEST_F(malformed, compressed_body_is_refused_with_the_name_of_the_header) {
  start();
  for (auto const& [method, path] :
       {std::pair("POST", "/api/v1/jobs"), std::pair("PUT", "/api/v1/clusters/default/kv/a")}) {
    http_request r;
    r.method = method;
    r.url = url(path);
    r.body = "\x1f\x8b";
    r.content_type = "application/json";
    r.headers.emplace_back("Content-Encoding", "gzip");
    auto const refused = send(r);
    EXPECT_EQ(refused.status, 415u) << path;
    auto const p = json::parse(refused.body);
    EXPECT_EQ(p.at("field"), "Content-Encoding");
    EXPECT_EQ(p.at("detail"),
              "Content-Encoding: 'gzip' is not supported; send the body without compression");
    r.body = R"({"closures":[]})";
    r.headers.back().second = "identity";
    EXPECT_NE(send(r).status, 415u) << path;
  }
}

}  // namespace
}  // namespace muster::web::test
