// Programs over REST before a worker accepts them; tests/e2e/programs_test.cpp has ranks of real
// workers.
#include <set>

#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

constexpr auto programs = "/api/v1/programs";

struct program_requests : web_fixture {
  std::string submitted(std::string const& body = R"({"command":["true"],"tasks":{"worker":2}})") {
    auto const id = text_at(post_json(programs, body, 201), "/id");
    return programs + ("/" + id);
  }
};

TEST_F(program_requests, pending_program_shows_its_request_and_why_it_waits) {
  start();
  auto const path = submitted(R"({"name":"train","command":["a","b"],"per_worker":2,
      "tasks":{"worker":{"min":2,"max":3,"command":["c"],"resources":{"gpu":1},"labels":{"zone":"x"}},
               "ps":{"count":1}},
      "env":{"SECRET":"hidden"},"working_dir":"/w","max_restarts":3,"grace":"2s","restart_grace":"1s",
      "deadline":"1h","notice":"1m","on_hang":"restart","hang_after":"5m","step_pattern":"(\\d+) steps","spares":3,"preload":["numpy","torch"],"store":"server","priority":2,"weight":5,"ends_with":["worker:0"],"metadata":{"who":"me"}})");
  auto const p = get_json(path);
  EXPECT_EQ(text_at(p, "/name"), "train");
  EXPECT_EQ(text_at(p, "/state"), "PENDING");
  EXPECT_EQ(text_at(p, "/waits_for"), "no worker that runs programs is connected");
  EXPECT_EQ(p.at("grace_ms"), 2'000);
  EXPECT_EQ(p.at("notice_ms"), 60'000);
  EXPECT_EQ(p.at("on_hang"), "restart");
  EXPECT_EQ(p.at("hang_after_ms"), 300'000);
  EXPECT_EQ(text_at(p, "/step_pattern"), "(\\d+) steps");
  EXPECT_EQ(p.at("spares"), 3);
  EXPECT_EQ(p.at("weight"), 5);
  EXPECT_EQ(p.at("preload"), (json::array{"numpy", "torch"}));
  EXPECT_EQ(text_at(p, "/store"), "server");
  EXPECT_EQ(p.at("spares_free"), 0);
  EXPECT_EQ(p.at("tasks").at("worker").at("max"), 3);
  EXPECT_EQ(json::serialize(p).find("hidden"), std::string::npos) << "values are never shown";
  EXPECT_EQ(get_json(path + "/ranks").at("ranks").as_array().size(), 0u);
  EXPECT_EQ(get_json(path + "/attempts").at("attempts").as_array().size(), 0u);
  EXPECT_EQ(text_at(get_json(programs), "/programs/0/name"), "train");
  EXPECT_EQ(get_json(std::string(programs) + "?state=running").at("programs").as_array().size(),
            0u);
}

TEST_F(program_requests, use_the_torch_store_of_the_server_if_their_cluster_has_one) {
  start();
  post_json("/api/v1/clusters", R"({"name":"train","torch":0})", 201);
  auto const store = [this](std::string const& more) {
    return text_at(get_json(submitted(R"({"command":["true"],"tasks":{"worker":2})" + more + "}")),
                   "/store");
  };
  EXPECT_EQ(store(""), "rank0");
  EXPECT_EQ(store(R"(,"store":"server")"), "server");
  EXPECT_EQ(store(R"(,"cluster":"train")"), "server");
  EXPECT_EQ(store(R"(,"cluster":"train","store":"rank0")"), "rank0");
  auto const wrong =
      post_json(programs, R"({"command":["true"],"tasks":{"worker":2},"store":"mine"})", 400);
  EXPECT_EQ(text_at(wrong, "/field"), "store");
}

TEST_F(program_requests, step_pattern_without_a_number_is_refused) {
  start();
  for (auto const& [pattern, why] : std::initializer_list<std::pair<std::string, std::string>>{
           {"step (", "expected an RE2 regular expression: missing ): step ("},
           {"(a)\\\\1", "expected an RE2 regular expression: invalid escape sequence: \\1"},
           {"step", "must contain a capturing group for the step number, such as step (\\d+)"},
           {std::string(257, 'x'), "256"}}) {
    auto const r = post(
        programs, R"({"command":["true"],"tasks":{"worker":1},"step_pattern":")" + pattern + "\"}");
    EXPECT_EQ(r.status, pattern.size() > 256 ? 400u : 422u) << r.body;
    auto const p = json::parse(r.body);
    EXPECT_EQ(text_at(p, "/field"), "step_pattern");
    EXPECT_NE(text_at(p, "/detail").find(why), std::string::npos) << text_at(p, "/detail");
  }
}

TEST_F(program_requests, are_found_by_name_and_id_case_insensitively_in_pages) {
  start();
  for (auto const* name : {"Train-a", "eval", "train-b", "eval-2"})
    submitted(R"({"command":["true"],"tasks":{"worker":1},"name":")" + std::string(name) + "\"}");
  auto const all = [&](std::string const& query) {
    std::vector<std::string> names;
    for (std::string token, more = query;; more = query + "&page_token=" + token) {
      auto const page = get_json(programs + ("?" + more));
      for (auto const& p : page.at("programs").as_array()) names.push_back(text_at(p, "/name"));
      auto const* next = page.as_object().if_contains("next_page_token");
      if (!next || next->as_string().empty()) return names;
      token = std::string(next->as_string());
    }
  };
  std::vector<std::string> const trains{"train-b", "Train-a"};
  EXPECT_EQ(all("q=TRAIN"), trains);
  EXPECT_EQ(all("q=train&limit=1"), trains);
  EXPECT_EQ(all("q=train&state=PENDING"), trains);
  EXPECT_EQ(all("q=nothing"), std::vector<std::string>{});
  auto const newest = get_json(std::string(programs) + "?limit=1");
  EXPECT_EQ(all("q=" + text_at(newest, "/programs/0/id")), std::vector<std::string>{"eval-2"});
}

TEST_F(program_requests, large_programs_are_listed_in_shorter_pages) {
  start();
  auto const words = std::string(120 << 10, 'x');
  std::string tasks;
  for (auto const* type : {"a", "b", "c", "d"})
    tasks += (tasks.empty() ? "\"" : ",\"") + std::string(type) + R"(":{"count":1,"command":[")" +
             words + "\"]}";
  for (int i = 0; i < 12; ++i) submitted(R"({"command":["true"],"tasks":{)" + tasks + "}}");
  std::set<std::string> ids;
  std::size_t pages = 0;
  for (std::string more; pages == 0 || !more.empty(); ++pages) {
    auto const r = get(std::string(programs) + "?limit=1000" + more);
    ASSERT_EQ(r.status, 200u);
    EXPECT_LT(r.body.size(), std::size_t{5} << 20);
    auto const page = json::parse(r.body);
    for (auto const& p : page.at("programs").as_array()) ids.insert(text_at(p, "/id"));
    auto const* next = page.as_object().if_contains("next_page_token");
    more = next ? "&page_token=" + std::string(next->as_string()) : "";
  }
  EXPECT_EQ(ids.size(), 12u);
  EXPECT_EQ(pages, 2u);
}

TEST_F(program_requests, requests_with_the_same_key_create_one_program) {
  start();
  auto const body = R"({"command":["true"],"tasks":{"worker":1},"idempotency_key":"once"})";
  auto const path = submitted(body);
  EXPECT_EQ(programs + ("/" + text_at(post_json(programs, body, 200), "/id")), path);
}

TEST_F(program_requests, end_by_cancel_or_stop_and_can_be_deleted) {
  start();
  for (auto const* how : {"/cancel", "/stop"}) {
    auto const path = submitted();
    EXPECT_EQ(send("DELETE", path).status, 409u) << "the program has not ended";
    post_json(path + how, "", 200);
    auto const p = get_json(path);
    EXPECT_EQ(text_at(p, "/state"), "CANCELLED") << how << ": no rank of it ever ran";
    EXPECT_FALSE(p.at("finished_ms").is_null());
    post_json(path + "/restart", "", 409);
    EXPECT_EQ(send("DELETE", path).status, 204u);
    EXPECT_EQ(get(path).status, 404u);
  }
}

TEST_F(program_requests, pending_program_accepts_a_restart) {
  start();
  auto const path = submitted();
  post_json(path + "/restart", "", 200);
  EXPECT_EQ(text_at(get_json(path), "/state"), "PENDING");
}

TEST_F(program_requests, invalid_request_names_the_field) {
  start();
  auto const field = [&](std::string const& body, unsigned status) {
    return text_at(post_json(programs, body, status), "/field");
  };
  EXPECT_EQ(field(R"({"tasks":{"worker":1}})", 422), "command");
  EXPECT_EQ(field(R"({"command":["true"],"tasks":{}})", 422), "tasks");
  EXPECT_EQ(field(R"({"command":["true"],"tasks":{"worker":{"count":1,"max":2}}})", 422),
            "tasks.worker");
  EXPECT_EQ(field(R"({"command":["true"],"tasks":{"worker":{"min":1}}})", 422), "tasks.worker");
  EXPECT_EQ(field(R"({"command":["true"],"tasks":{"worker":1},"upload":"."})", 422), "upload");
  EXPECT_EQ(field(R"({"command":["true"],"tasks":{"worker":1},"preload":["a-b"]})", 422),
            "preload");
  post_json(programs, R"({"cluster":"moon","command":["true"],"tasks":{"worker":1}})", 404);
}

TEST_F(program_requests, upload_must_exist_as_a_blob_and_is_kept) {
  start();
  std::string const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  auto const body = R"({"command":["true"],"tasks":{"worker":1},"upload":")" + abc + R"("})";
  auto const refused = post_json(programs, body, 422);
  EXPECT_EQ(text_at(refused, "/field"), "upload");
  EXPECT_NE(text_at(refused, "/detail").find("PUT /api/v1/blobs/" + abc), std::string::npos);
  EXPECT_EQ(send("PUT", "/api/v1/blobs/" + abc, "abc", "application/octet-stream").status, 201u);
  EXPECT_EQ(text_at(get_json(submitted(body)), "/upload"), abc);
}

TEST_F(program_requests, are_listed_in_pages) {
  start();
  auto const first = submitted(), second = submitted();
  auto const page = get_json(std::string(programs) + "?limit=1");
  EXPECT_EQ(programs + ("/" + text_at(page, "/programs/0/id")), second);
  auto const next = text_at(page, "/next_page_token");
  EXPECT_EQ(
      programs + ("/" + text_at(get_json(std::string(programs) + "?limit=1&page_token=" + next),
                                "/programs/0/id")),
      first);
}

TEST_F(program_requests, need_permission_and_belong_to_their_submitter) {
  start_guarded();
  auto const body = R"({"command":["true"],"tasks":{"worker":1}})";
  auto const refused = send_as(make_token(core::role::submitter), "POST", programs, body);
  EXPECT_EQ(refused.status, 403u);
  EXPECT_EQ(text_at(json::parse(refused.body), "/field"), "command");
  EXPECT_TRUE(text_at(json::parse(refused.body), "/detail").starts_with("programs run commands"));
  auto const mine = make_token(core::role::submitter, {}, true);
  auto const made = send_as(mine, "POST", programs, body);
  ASSERT_EQ(made.status, 201u) << made.body;
  auto const p = json::parse(made.body);
  EXPECT_FALSE(text_at(p, "/submitted_by").empty());
  auto const cancel = programs + ("/" + text_at(p, "/id")) + "/cancel";
  EXPECT_EQ(send_as(make_token(core::role::submitter, {}, true), "POST", cancel).status, 403u);
  EXPECT_EQ(send_as(mine, "POST", cancel).status, 200u);
}

TEST_F(program_requests, number_of_programs_is_limited) {
  core::config config;
  config.programs.programs_max = 1;
  start({}, config);
  submitted();
  auto const full = post_json(programs, R"({"command":["true"],"tasks":{"worker":1}})", 429);
  EXPECT_EQ(text_at(full, "/code"), "RESOURCE_EXHAUSTED");
}

}  // namespace
}  // namespace muster::web::test
