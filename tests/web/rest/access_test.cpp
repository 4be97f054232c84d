// Tokens over REST and WebSocket: the permissions table of docs/tokens.md, ownership of jobs,
// clusters, the dashboard's cookie, and effects of a token's end.
#include <fstream>
#include <map>
#include <regex>

#include "server/core/access/token_table.hpp"
#include "tests/web/fixture.hpp"
#include "tests/web/socket.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web::test {
namespace {

using namespace std::chrono_literals;

constexpr std::array<core::role, 4> roles = {core::role::viewer, core::role::submitter,
                                             core::role::worker, core::role::admin};

/// Reads the table of docs/tokens.md: for each operation id, which of `roles` may call it.
std::map<std::string, std::array<bool, 4>> documented_table() {
  std::map<std::string, std::array<bool, 4>> all;
  std::ifstream file(MUSTER_SECURITY_DOC);
  std::regex const row(
      R"(^\|[^|]*\|(.*)\| *(yes|no) *\| *(yes|no) *\| *(yes|no) *\| *(yes|no) *\|$)");
  std::regex const operation("`([A-Za-z0-9]+)`");
  for (std::string line; std::getline(file, line);) {
    std::smatch m;
    if (!std::regex_match(line, m, row)) continue;
    std::string const names = m[1];
    for (std::sregex_iterator it(names.begin(), names.end(), operation), end; it != end; ++it)
      for (std::size_t i = 0; i < 4; ++i) all[(*it)[1]][i] = m[2 + i] == "yes";
  }
  return all;
}

/// Returns a path of the route with ids that do not exist.
std::string some_path(route const& r) {
  std::string path(r.pattern);
  for (auto const& [name, value] : std::map<std::string, std::string>{
           {"{cluster}", "default"},
           {"{index}", "7"},
           {"{job}", "worker"},
           {"{sha256}", std::string(64, '0')},
           {"{key*}", "nothing"},
           {"{id}", path.find("/jobs/") != std::string::npos                ? "job_00000000000000ff"
                    : path.find("/closures/") != std::string::npos          ? "cl_00000000000000ff"
                    : path.find("/remote_values/") != std::string::npos     ? "rv_00000000000000ff"
                    : path.find("/per_worker_values/") != std::string::npos ? "pw_00000000000000ff"
                                                                            : "nobody-000000"}})
    for (auto at = path.find(name); at != std::string::npos; at = path.find(name))
      path.replace(at, name.size(), value);
  return path;
}

struct access : web_fixture {
  std::string submit_as(std::string const& token, unsigned status = 201) {
    auto const r = send_as(token, "POST", "/api/v1/jobs", echo);
    EXPECT_EQ(r.status, status) << r.body;
    return r.ok() ? std::string(json::parse(r.body).at("id").as_string()) : std::string();
  }
  std::string const echo = R"({"closures":[{"function":"muster.echo","args":[1]}]})";
};

TEST_F(access, permissions_match_the_documented_table) {
  start_guarded();
  auto const table = documented_table();
  std::array<std::string, 4> tokens;
  for (std::size_t i = 0; i < roles.size(); ++i) tokens[i] = make_token(roles[i], {}, true);
  for (auto const& r : all_routes()) {
    std::string const id(r.id), method(r.method);
    auto const it = table.find(id);
    ASSERT_NE(it, table.end()) << id << " is not in the table of docs/tokens.md";
    auto const path = some_path(r);
    bool const open = r.needs == core::permission::nothing;
    auto const nobody = send_as({}, method, path);
    EXPECT_EQ(nobody.status == 401, !open) << id << ": " << nobody.status;
    EXPECT_EQ(nobody.header("WWW-Authenticate").empty(), open) << id;
    for (std::size_t i = 0; i < roles.size(); ++i) {
      if (id == "streamEvents") continue;
      auto const status = send_as(tokens[i], method, path).status;
      EXPECT_NE(status, 401u) << id;
      EXPECT_EQ(status != 403, it->second[i])
          << id << " as " << core::name(roles[i]) << ": " << status << " " << path;
    }
  }
  EXPECT_EQ(table.size(), all_routes().size()) << "the table names operations that are not served";
}

TEST_F(access, missing_or_wrong_token_is_a_problem_with_advice) {
  start_guarded();
  auto const none = send_as({}, "GET", "/api/v1/jobs");
  EXPECT_EQ(none.status, 401u);
  auto const p = json::parse(none.body);
  EXPECT_EQ(p.at("code"), "UNAUTHENTICATED");
  EXPECT_NE(std::string(p.at("detail").as_string()).find("--token"), std::string::npos);
  auto const wrong = send_as("muster.admin-000000.x", "GET", "/api/v1/jobs");
  EXPECT_EQ(wrong.status, 401u);
  EXPECT_NE(wrong.body.find("unknown, revoked or expired"), std::string::npos);
  auto const viewer = send_as(make_token(core::role::viewer), "POST", "/api/v1/jobs", echo);
  EXPECT_EQ(viewer.status, 403u);
  EXPECT_EQ(json::parse(viewer.body).at("field"), "role");
  EXPECT_NE(viewer.body.find("has the role viewer, which cannot submit"), std::string::npos)
      << viewer.body;
  EXPECT_EQ(send_as({}, "GET", "/api/v1/nothing").status, 404u);
  EXPECT_EQ(send_as({}, "GET", "/").status, 200u);
}

TEST_F(access, refusals_are_counted) {
  start_guarded();
  send_as({}, "GET", "/api/v1/jobs");
  send_as("muster.x.y", "GET", "/api/v1/jobs");
  send_as(make_token(core::role::worker), "GET", "/api/v1/jobs");
  auto const text = send_as(admin_, "GET", "/metrics").body;
  for (auto const* line : {"muster_auth_required 1", "muster_tokens 2",
                           "muster_access_refused_total{reason=\"no_token\"} 1",
                           "muster_access_refused_total{reason=\"wrong_token\"} 1",
                           "muster_access_refused_total{reason=\"role\"} 1"})
    EXPECT_NE(text.find("\n" + std::string(line) + "\n"), std::string::npos) << line;
}

TEST_F(access, jobs_belong_to_their_submitter) {
  start_guarded();
  auto const mine = make_token(core::role::submitter), other = make_token(core::role::submitter);
  auto const job = submit_as(mine);
  auto const seen = json::parse(send_as(other, "GET", "/api/v1/jobs/" + job).body);
  EXPECT_TRUE(std::string(seen.at("submitted_by").as_string()).starts_with("submitter-"));
  auto const path = "/api/v1/jobs/" + job;
  EXPECT_EQ(send_as(other, "POST", path + "/cancel").status, 403u);
  EXPECT_EQ(send_as(other, "DELETE", path).status, 403u);
  EXPECT_EQ(send_as(other, "POST", path + "/retry").status, 403u);
  EXPECT_EQ(send_as(other, "POST", path + "/closures", "[]").status, 403u);
  auto const closures = json::parse(send_as(mine, "GET", path + "/closures").body);
  auto const closure = std::string(closures.at("closures").at(0).at("id").as_string());
  EXPECT_EQ(send_as(other, "POST", "/api/v1/closures/" + closure + "/cancel").status, 403u);
  EXPECT_EQ(send_as(mine, "POST", path + "/cancel").status, 200u);
  auto const second = submit_as(mine);
  EXPECT_EQ(send_as(admin_, "POST", "/api/v1/jobs/" + second + "/cancel").status, 200u);
}

TEST_F(access, per_worker_values_belong_to_their_creator) {
  start_guarded();
  auto const mine = make_token(core::role::submitter), other = make_token(core::role::submitter);
  for (auto const& who : {mine, admin_}) {
    auto const made =
        json::parse(send_as(mine, "POST", "/api/v1/per_worker_values", R"({"function":"f"})").body);
    EXPECT_TRUE(text_at(made, "/submitted_by").starts_with("submitter-"));
    auto const path = "/api/v1/per_worker_values/" + text_at(made, "/id");
    EXPECT_EQ(send_as(other, "DELETE", path).status, 403u);
    EXPECT_EQ(send_as(who, "DELETE", path).status, 204u);
  }
}

TEST_F(access, idempotency_keys_are_separate_per_token) {
  start_guarded();
  auto const keyed = R"({"idempotency_key":"k","closures":[{"function":"f"}]})";
  auto const a = make_token(core::role::submitter), b = make_token(core::role::submitter);
  EXPECT_EQ(send_as(a, "POST", "/api/v1/jobs", keyed).status, 201u);
  EXPECT_EQ(send_as(a, "POST", "/api/v1/jobs", keyed).status, 200u);
  EXPECT_EQ(send_as(b, "POST", "/api/v1/jobs", keyed).status, 201u);
}

TEST_F(access, running_programs_requires_allow_exec) {
  start_guarded();
  auto const exec = R"({"closures":[{"function":"muster.exec","args":[["true"]]}]})";
  auto const plain = make_token(core::role::submitter);
  auto const refused = send_as(plain, "POST", "/api/v1/jobs", exec);
  EXPECT_EQ(refused.status, 403u);
  EXPECT_NE(refused.body.find("--allow-exec"), std::string::npos);
  EXPECT_EQ(
      send_as(make_token(core::role::submitter, {}, true), "POST", "/api/v1/jobs", exec).status,
      201u);
  auto const open =
      json::parse(send_as(plain, "POST", "/api/v1/jobs", R"({"open":true,"closures":[]})").body);
  auto const path = "/api/v1/jobs/" + std::string(open.at("id").as_string()) + "/closures";
  EXPECT_EQ(send_as(plain, "POST", path, R"([{"function":"muster.exec"}])").status, 403u);
  http_request lines;
  lines.method = "POST";
  lines.url = url(path);
  lines.token = plain;
  lines.body = "{\"function\":\"muster.echo\"}\n{\"function\":\"muster.exec\"}\n";
  lines.content_type = "application/x-ndjson";
  auto const refused_line = send(lines);
  EXPECT_EQ(refused_line.status, 403u);
  EXPECT_EQ(json::parse(refused_line.body).at("line"), 2);
  lines.body = "{\"function\":\"muster.exec\"}\n{\"function\":\"muster.echo\"}\n\n\n";
  EXPECT_EQ(json::parse(send(lines).body).at("line"), 1)
      << "not the last of those that came with it";
  EXPECT_EQ(
      send_as(plain, "POST", "/api/v1/per_worker_values", R"({"function":"muster.exec"})").status,
      403u);
}

TEST_F(access, token_for_one_cluster_sees_only_that_cluster) {
  start_guarded();
  auto const inside = make_token(core::role::submitter, {"default"});
  auto const outside = make_token(core::role::submitter, {"other"});
  auto const job = submit_as(inside);
  EXPECT_EQ(submit_as(outside, 403), "");
  EXPECT_EQ(send_as(inside, "GET", "/api/v1/jobs").status, 200u);
  auto const elsewhere = send_as(outside, "GET", "/api/v1/jobs");
  EXPECT_EQ(elsewhere.status, 403u);
  EXPECT_EQ(json::parse(elsewhere.body).at("field"), "cluster");
  EXPECT_EQ(send_as(inside, "GET", "/api/v1/jobs?cluster=other").status, 403u);
  EXPECT_EQ(send_as(outside, "GET", "/api/v1/jobs/" + job).status, 403u);
  EXPECT_EQ(send_as(inside, "GET", "/api/v1/jobs/" + job).status, 200u);
  EXPECT_EQ(send_as(inside, "GET", "/api/v1/clusters/default/tasks").status, 200u);
  EXPECT_EQ(send_as(outside, "GET", "/api/v1/clusters/default/tasks").status, 403u);
  EXPECT_EQ(
      send_as(outside, "GET", "/api/v1/clusters/default/barriers/job_0000000000000001").status,
      403u);
  auto const whole = send_as(inside, "GET", "/metrics");
  EXPECT_EQ(whole.status, 403u);
  EXPECT_EQ(json::parse(whole.body).at("field"), "cluster");
  EXPECT_NE(whole.body.find("whole server"), std::string::npos);
  auto const per_worker = R"({"function":"f"})";
  EXPECT_EQ(send_as(outside, "POST", "/api/v1/per_worker_values", per_worker).status, 403u);
}

TEST_F(access, limits_of_a_token_are_enforced) {
  start_guarded();
  server::token_request w;
  w.role = core::role::submitter;
  w.sessions_max = 2;
  w.queued_max = 3;
  auto const t = make_token(w);
  submit_as(t);
  submit_as(t);
  auto const full = send_as(t, "POST", "/api/v1/jobs", echo);
  EXPECT_EQ(full.status, 429u);
  EXPECT_NE(full.body.find("its limit is 2"), std::string::npos) << full.body;
  w.sessions_max = 0;
  auto const other = make_token(w);
  auto const open =
      json::parse(send_as(other, "POST", "/api/v1/jobs", R"({"open":true,"closures":[]})").body);
  auto const path = "/api/v1/jobs/" + std::string(open.at("id").as_string()) + "/closures";
  EXPECT_EQ(send_as(other, "POST", path, R"([{"function":"f"},{"function":"f"}])").status, 200u);
  auto const queued = send_as(other, "POST", path, R"([{"function":"f"},{"function":"f"}])");
  EXPECT_EQ(queued.status, 429u);
  EXPECT_NE(queued.body.find("2 queued closures, its limit is 3"), std::string::npos);
}

TEST_F(access, tokens_are_created_listed_rotated_and_revoked) {
  start_guarded();
  auto const made = send_as(admin_, "POST", "/api/v1/tokens",
                            R"({"role":"viewer","name":"ops","expires":"30d","clusters":["a"],
                                "queued_max":5,"sessions_max":6,"value_bytes_max":7})");
  ASSERT_EQ(made.status, 201u) << made.body;
  EXPECT_EQ(made.header("Cache-Control"), "no-store");
  auto const t = json::parse(made.body);
  auto const id = std::string(t.at("id").as_string());
  auto const secret = std::string(t.at("token").as_string());
  EXPECT_TRUE(id.starts_with("ops-"));
  auto const list = send_as(admin_, "GET", "/api/v1/tokens");
  EXPECT_EQ(list.body.find(secret), std::string::npos);
  EXPECT_EQ(json::parse(list.body).at("tokens").as_array().size(), 2u);
  auto const first = json::parse(send_as(admin_, "GET", "/api/v1/tokens?limit=1").body);
  auto const next = std::string(first.at("next_page_token").as_string());
  auto const second =
      json::parse(send_as(admin_, "GET", "/api/v1/tokens?limit=1&page_token=" + next).body);
  EXPECT_EQ(text_at(second, "/tokens/0/id"), id);
  auto const rotated =
      json::parse(send_as(admin_, "POST", "/api/v1/tokens/" + id + "/rotate").body);
  EXPECT_EQ(send_as(secret, "GET", "/api/v1/session").body.find("\"id\""), std::string::npos);
  auto const fresh = std::string(rotated.at("token").as_string());
  EXPECT_EQ(text_at(json::parse(send_as(fresh, "GET", "/api/v1/session").body), "/id"), id);
  EXPECT_EQ(send_as(admin_, "DELETE", "/api/v1/tokens/" + id).status, 204u);
  EXPECT_EQ(send_as(fresh, "GET", "/api/v1/jobs?cluster=a").status, 401u);
  EXPECT_EQ(send_as(admin_, "DELETE", "/api/v1/tokens/" + id).status, 404u);
  EXPECT_EQ(send_as(admin_, "POST", "/api/v1/tokens/" + id + "/rotate").status, 404u);
  auto const last = text_at(json::parse(send_as(admin_, "GET", "/api/v1/session").body), "/id");
  EXPECT_EQ(send_as(admin_, "DELETE", "/api/v1/tokens/" + last).status, 409u);
  for (auto const* wrong :
       {R"({})", R"({"role":"root"})", R"({"role":"viewer","expires":"0s"})",
        R"({"role":"viewer","name":"a b"})", R"({"role":"admin","clusters":["a"]})",
        R"({"role":"viewer","clusters":[""]})"})
    EXPECT_EQ(send_as(admin_, "POST", "/api/v1/tokens", wrong).status / 100, 4u) << wrong;
}

TEST_F(access, token_that_revokes_itself_gets_the_response) {
  start_guarded();
  server::token_request w;
  w.role = core::role::admin;
  auto own = make_token(w);
  auto const id = text_at(json::parse(send_as(own, "GET", "/api/v1/session").body), "/id");
  for (int i = 0; i < 5; ++i) {
    auto const rotated = send_as(own, "POST", "/api/v1/tokens/" + id + "/rotate");
    ASSERT_EQ(rotated.status, 200u) << rotated.body;
    EXPECT_EQ(rotated.header("Connection"), "close");
    EXPECT_EQ(send_as(own, "GET", "/api/v1/tokens").status, 401u);
    own = text_at(json::parse(rotated.body), "/token");
    EXPECT_EQ(send_as(own, "GET", "/api/v1/tokens").status, 200u);
  }
  EXPECT_EQ(send_as(own, "DELETE", "/api/v1/tokens/" + id).status, 204u);
  EXPECT_EQ(send_as(own, "GET", "/api/v1/tokens").status, 401u);
}

TEST_F(access, tokens_that_are_not_required_yet_cause_a_warning) {
  engine_ = std::make_unique<engine>(core::config{}, 2, core::coordination::limits{}, true);
  engine_->gate().require_after_restart();
  web_options options;
  options.gate = &engine_->gate();
  start(options);
  EXPECT_TRUE(get_json("/api/v1/attention").at("items").as_array().empty());
  auto const made = post_json("/api/v1/tokens", R"({"role":"admin"})", 201);
  EXPECT_NE(text_at(made, "/warning").find("accepts requests without a token until it restarts"),
            std::string::npos)
      << made;
  EXPECT_EQ(get("/api/v1/jobs").status, 200u);
  auto const alerts = get_json("/api/v1/attention").at("items").as_array();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(text_at(alerts[0], "/rule"), "tokens-ignored");
  engine_->gate().require();
  auto const own = text_at(made, "/token");
  auto const later = send_as(own, "POST", "/api/v1/tokens", R"({"role":"viewer"})");
  EXPECT_EQ(later.body.find("warning"), std::string::npos) << later.body;
  EXPECT_EQ(later.status, 201u);
  auto const none = json::parse(send_as(own, "GET", "/api/v1/attention").body);
  EXPECT_TRUE(none.at("items").as_array().empty());
}

TEST_F(access, tokens_of_a_file_are_listed_but_changed_only_in_the_file) {
  std::string const admin(40, 'a');
  start_guarded({}, false);
  read_tokens("admin " + admin);
  auto const me = json::parse(send_as(admin, "GET", "/api/v1/session").body);
  EXPECT_EQ(me.at("from_file"), true);
  auto const list = json::parse(send_as(admin, "GET", "/api/v1/tokens").body);
  EXPECT_EQ(list.at("tokens").at(0).at("from_file"), true);
  auto const id = std::string(me.at("id").as_string());
  EXPECT_EQ(send_as(admin, "POST", "/api/v1/tokens/" + id + "/rotate").status, 409u);
  auto const kept = send_as(admin, "POST", "/api/v1/tokens", R"({"role":"viewer"})");
  EXPECT_EQ(kept.status, 409u);
  EXPECT_NE(kept.body.find("cannot store tokens"), std::string::npos);
}

TEST_F(access, tokens_beyond_the_limit_are_refused) {
  start_guarded();
  std::string lines;
  for (std::size_t i = 1; i < core::token_table::tokens_max; ++i)
    lines += "viewer muster.t" + std::to_string(i) + "." + std::string(43, 's') + "\n";
  read_tokens(lines);
  auto const full = send_as(admin_, "POST", "/api/v1/tokens", R"({"role":"viewer"})");
  EXPECT_EQ(full.status, 429u);
  EXPECT_NE(full.body.find("10000"), std::string::npos);
}

TEST_F(access, sign_in_cookie_is_unusable_for_other_origins) {
  start_guarded();
  auto const viewer = make_token(core::role::submitter);
  auto const signed_in = send_as({}, "POST", "/api/v1/session", "{\"token\":\"" + viewer + "\"}");
  ASSERT_EQ(signed_in.status, 200u) << signed_in.body;
  auto const set = std::string(signed_in.header("Set-Cookie"));
  for (auto const* part : {"HttpOnly", "SameSite=Strict", "Path=/"})
    EXPECT_NE(set.find(part), std::string::npos) << set;
  auto const with_cookie = [&](std::string const& method, std::string const& path,
                               std::string const& origin, std::string const& body = {}) {
    http_request r;
    r.method = method;
    r.url = url(path);
    r.headers.emplace_back("Cookie", "other=1; " + set.substr(0, set.find(';')));
    if (!origin.empty()) r.headers.emplace_back("Origin", origin);
    r.body = body;
    if (!body.empty()) r.content_type = "application/json";
    return send(r).status;
  };
  EXPECT_EQ(with_cookie("GET", "/api/v1/jobs", {}), 200u);
  EXPECT_EQ(with_cookie("POST", "/api/v1/jobs", "http://" + address(), echo), 201u);
  EXPECT_EQ(with_cookie("POST", "/api/v1/jobs", {}, echo), 403u);
  EXPECT_EQ(with_cookie("POST", "/api/v1/jobs", "http://evil.example", echo), 403u);
  auto const wrong = send_as({}, "POST", "/api/v1/session", R"({"token":"muster.x.y"})");
  EXPECT_EQ(wrong.status, 401u);
  EXPECT_TRUE(wrong.header("Set-Cookie").empty());
  auto const other_role = send_as({}, "POST", "/api/v1/session",
                                  "{\"token\":\"" + make_token(core::role::worker) + "\"}");
  EXPECT_EQ(other_role.status, 403u);
  EXPECT_EQ(json::parse(other_role.body).at("field"), "role");
  EXPECT_EQ(send_as({}, "POST", "/api/v1/session", "{}").status, 400u);
  auto const out = send_as({}, "DELETE", "/api/v1/session");
  EXPECT_EQ(out.status, 204u);
  EXPECT_NE(out.header("Set-Cookie").find("Max-Age=0"), std::string::npos);
  auto const nobody = json::parse(send_as({}, "GET", "/api/v1/session").body);
  EXPECT_EQ(nobody.at("required"), true);
  EXPECT_EQ(nobody.at("signed_in"), false);
}

TEST_F(access, is_open_and_reported_as_such_without_tokens) {
  start();
  auto const who = get_json("/api/v1/session");
  EXPECT_EQ(who.at("required"), false);
  EXPECT_EQ(who.at("signed_in"), true);
  EXPECT_EQ(post_json("/api/v1/session", R"({"token":"x"})").at("signed_in"), true);
}

TEST_F(access, a_websocket_ends_with_its_token) {
  web_options quick;
  quick.websocket_tick = 20ms;
  start_guarded(quick);
  EXPECT_EQ(socket(port()).status(), 401u);
  socket::options o;
  o.token = make_token(core::role::viewer);
  socket s(port(), o);
  ASSERT_EQ(s.status(), 101u);
  EXPECT_EQ(s.receive().at("t"), "hello");
  auto const id = o.token.substr(7, o.token.rfind('.') - 7);
  EXPECT_EQ(send_as(admin_, "DELETE", "/api/v1/tokens/" + id).status, 204u);
  EXPECT_TRUE(s.receive().is_null());
}

TEST_F(access, events_name_the_token_of_each_action) {
  start_guarded();
  auto const t = make_token(core::role::submitter);
  auto const job = submit_as(t);
  send_as(t, "POST", "/api/v1/jobs/" + job + "/cancel");
  auto const told = [&] {
    auto const all = json::parse(send_as(admin_, "GET", "/api/v1/events").body);
    std::vector<std::string> lines;
    for (auto const& e : all.at("events").as_array())
      if (text_at(e, "/kind") == "audit") lines.push_back(text_at(e, "/text"));
    return lines;
  };
  ASSERT_TRUE(eventually([&] { return told().size() >= 2; }));
  auto const lines = told();
  EXPECT_EQ(lines[0], "POST /api/v1/jobs 201 from 127.0.0.1");
  EXPECT_EQ(lines[1], "POST /api/v1/jobs/" + job + "/cancel 200 from 127.0.0.1");
}

}  // namespace
}  // namespace muster::web::test
