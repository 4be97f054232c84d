// Tags and examples of /openapi.json: each operation has them, they fit their schemas, and the
// server accepts the example requests.
#include <algorithm>
#include <set>

#include "tests/web/contract/contract.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

struct openapi_examples : web_fixture {
  openapi_examples() : schemas(document()) { schemas.strict = true; }

  static json::value const& document() { return contract::instance().document(); }

  template <class Visit>
  static void each_operation(Visit visit) {
    for (auto const& [path, item] : document().at("paths").as_object())
      for (auto const& [method, operation] : item.as_object())
        visit(std::string(path), std::string(method), operation.as_object());
  }

  /// Returns the example of a media type, or null.
  static json::value const* example_of(json::value const& media) {
    auto const& m = media.as_object();
    if (auto const* one = m.if_contains("example")) return one;
    auto const* some = m.if_contains("examples");
    if (!some || some->as_object().empty()) return nullptr;
    auto const* reference = some->as_object().begin()->value().as_object().if_contains("$ref");
    if (!reference) return nullptr;
    auto const pointer = std::string(reference->as_string()).substr(1);
    return &document().at_pointer(pointer).at("value");
  }

  void expect_examples(std::string const& where, json::value const& content) {
    for (auto const& [media, described] : content.as_object()) {
      auto const* example = example_of(described);
      ASSERT_TRUE(example) << where << " " << media << " has no example";
      auto const* schema = described.as_object().if_contains("schema");
      bool const bytes = schema && schema->as_object().contains("format");
      if (!schema || bytes) continue;
      EXPECT_EQ(schemas.misfit(*schema, *example), "") << where << " " << *example;
    }
  }

  json_schema schemas;
};

TEST_F(openapi_examples, each_operation_has_a_described_tag) {
  std::vector<std::string> described;
  for (auto const& tag : document().at("tags").as_array()) {
    described.emplace_back(tag.at("name").as_string());
    EXPECT_FALSE(tag.at("description").as_string().empty()) << described.back();
  }
  std::set<std::string> used;
  each_operation([&](std::string const& path, std::string const&, json::object const& o) {
    ASSERT_EQ(o.at("tags").as_array().size(), 1u) << path;
    std::string const tag(o.at("tags").at(0).as_string());
    EXPECT_EQ(std::count(described.begin(), described.end(), tag), 1) << path << " " << tag;
    used.insert(tag);
  });
  EXPECT_EQ(used.size(), described.size()) << "a tag without operations";
}

TEST_F(openapi_examples, each_request_and_response_has_an_example_that_fits) {
  std::size_t checked = 0;
  each_operation([&](std::string const& path, std::string const& method, json::object const& o) {
    auto const where = method + " " + path;
    for (auto const& p : o.at("parameters").as_array()) {
      auto const* required = p.as_object().if_contains("required");
      if (!required) continue;
      ASSERT_TRUE(p.as_object().contains("example")) << where << p;
      EXPECT_EQ(schemas.misfit(p.at("schema"), p.at("example")), "") << where << p;
    }
    if (auto const* body = o.if_contains("requestBody"))
      expect_examples(where, body->at("content"));
    for (auto const& [status, outcome] : o.at("responses").as_object()) {
      auto const& answer = schemas.resolved(outcome).as_object();
      if (auto const* content = answer.if_contains("content"))
        expect_examples(where + " " + std::string(status), *content);
    }
    ++checked;
  });
  EXPECT_GT(checked, 100u);
}

TEST_F(openapi_examples, each_ndjson_operation_names_the_schema_of_a_line) {
  std::map<std::string, std::string> found;
  auto const look = [&](json::object const& o, json::value const& content) {
    auto const* lines = content.as_object().if_contains("application/x-ndjson");
    if (!lines) return;
    std::string const ref(lines->at("x-itemSchema").at("$ref").as_string());
    auto const name = ref.substr(ref.rfind('/') + 1);
    EXPECT_NE(o.at("description").as_string().find("`" + name + "`"), std::string::npos) << o;
    found[std::string(o.at("operationId").as_string())] = name;
  };
  each_operation([&](std::string const&, std::string const&, json::object const& o) {
    if (auto const* body = o.if_contains("requestBody")) look(o, body->at("content"));
    for (auto const& [status, outcome] : o.at("responses").as_object())
      if (auto const* content = outcome.as_object().if_contains("content")) look(o, *content);
  });
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"appendClosures", "Closure"},
                                                       {"streamResults", "ResultLine"}}));
}

// A resource that only another request creates gives 404, and a token that was never issued gives
// 401.
TEST_F(openapi_examples, example_requests_get_the_described_responses) {
  start_guarded();
  std::set<std::string> const made{"submitJob", "createPerWorkerValue", "createToken",
                                   "submitProgram", "putKey"};
  std::set<unsigned> const refused{400, 415, 422, 500, 503};
  std::set<std::string> created;
  each_operation([&](std::string const& path, std::string const& method, json::object const& o) {
    std::string const id(o.at("operationId").as_string());
    auto const* body = o.if_contains("requestBody");
    if (!body) return;
    std::string target = path;
    for (auto const& p : o.at("parameters").as_array()) {
      if (p.at("in") != "path") continue;
      std::string const name(p.at("name").as_string());
      auto const& example = p.at("example");
      auto const shown =
          example.is_string() ? std::string(example.as_string()) : json::serialize(example);
      auto const value = name == "cluster" ? std::string("default") : shown;
      target.replace(target.find("{" + name + "}"), name.size() + 2, value);
    }
    for (auto const& [media, described] : body->at("content").as_object()) {
      auto const* example = example_of(described);
      ASSERT_TRUE(example) << id;
      http_request r;
      r.method = method;
      std::transform(r.method.begin(), r.method.end(), r.method.begin(), ::toupper);
      r.url = url(target);
      r.token = admin_;
      r.content_type = std::string(media);
      r.body = example->is_string() ? std::string(example->as_string()) : json::serialize(*example);
      auto const answer = client_.send(r);
      ASSERT_TRUE(answer) << id;
      EXPECT_FALSE(refused.contains(answer->status)) << id << " " << answer->status << answer->body;
      if (answer->ok()) created.insert(id);
    }
  });
  for (auto const& id : made) EXPECT_TRUE(created.contains(id)) << id;
}

TEST_F(openapi_examples, results_are_read_in_json_pages) {
  start();
  add_worker(worker::habit::echo);
  auto const job = text_at(submit(5), "/id");
  ASSERT_EQ(number_at(get_json("/api/v1/jobs/" + job + "/join?timeout=10s"), "/counts/succeeded"),
            5);
  auto const path = "/api/v1/jobs/" + job + "/results/page";
  auto const first = get_json(path + "?limit=2");
  EXPECT_EQ(first.at("results").as_array().size(), 2u);
  auto const second = get_json(path + "?limit=3&page_token=" + text_at(first, "/next_page_token"));
  EXPECT_EQ(second.at("results").as_array().size(), 3u);
  EXPECT_EQ(number_at(second, "/results/0/index"), 2);
  EXPECT_EQ(text_at(second, "/results/0/state"), "SUCCEEDED");
  EXPECT_EQ(get(path + "?page_token=x").status, 400u);
  EXPECT_EQ(get("/api/v1/jobs/job_00000000000000ff/results/page").status, 404u);
}

TEST_F(openapi_examples, page_of_large_results_is_cut_and_continued) {
  start();
  add_worker(worker::habit::echo);
  auto const one = "[\"" + std::string(std::size_t{3} << 20, 'x') + "\"]";
  auto const args = "[" + one + "," + one + "," + one + "," + one + "]";
  auto const job = text_at(
      post_json("/api/v1/jobs", R"({"map":{"function":"muster.echo","args":)" + args + "}}", 201),
      "/id");
  auto const path = "/api/v1/jobs/" + job + "/results/page";
  ASSERT_EQ(number_at(get_json("/api/v1/jobs/" + job + "/join?timeout=30s"), "/counts/succeeded"),
            4);
  auto const first = get_json(path);
  EXPECT_EQ(first.at("results").as_array().size(), 3u);
  auto const second = get_json(path + "?page_token=" + text_at(first, "/next_page_token"));
  EXPECT_EQ(second.at("results").as_array().size(), 1u);
  EXPECT_FALSE(second.as_object().contains("next_page_token"));
}

}  // namespace
}  // namespace muster::web::test
