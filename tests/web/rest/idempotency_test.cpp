#include "tests/web/fixture.hpp"
#include "web/rest/idempotency_key.hpp"

namespace muster::web::test {
namespace {

constexpr auto jobs_path = "/api/v1/jobs", programs_path = "/api/v1/programs";

class idempotency : public web_fixture {
 protected:
  void SetUp() override { start(); }

  json::value post_keyed(std::string const& path, std::string const& key, std::string const& body,
                         unsigned status) {
    http_request r;
    r.method = "POST";
    r.url = url(path);
    r.body = body;
    r.headers = {{"Content-Type", "application/json"}, {"Idempotency-Key", key}};
    auto const answer = send(r);
    EXPECT_EQ(answer.status, status) << answer.body;
    return json::parse(answer.body);
  }
};

TEST_F(idempotency, different_body_with_a_used_key_is_refused) {
  auto const job = post_json(
      jobs_path, R"({"idempotency_key":"build-77","closures":[{"function":"muster.sleep"}]})", 201);
  auto const refused = post_json(
      jobs_path,
      R"({"idempotency_key":"build-77","closures":[{"function":"muster.echo","args":["OTHER"]}]})",
      422);
  EXPECT_EQ(text_at(refused, "/field"), "idempotency_key");
  EXPECT_TRUE(contains(text_at(refused, "/detail"), text_at(job, "/id"))) << refused;
  EXPECT_EQ(get_json(jobs_path).at("jobs").as_array().size(), 1u);
}

TEST_F(idempotency, equal_bodies_can_be_formatted_differently) {
  auto const first = post_json(
      jobs_path, R"({"closures":[{"function":"muster.echo","args":["é"]}],"idempotency_key":"k"})",
      201);
  auto const second = post_json(jobs_path, R"( {"idempotency_key" : "k",
      "closures": [{"args":["\u00e9"], "function":"muster.echo"}]} )",
                                200);
  EXPECT_EQ(first.at("id"), second.at("id"));
}

TEST_F(idempotency, the_header_is_the_key) {
  auto const body = R"({"closures":[{"function":"muster.echo"}]})";
  auto const first = post_keyed(jobs_path, "abc", body, 201);
  EXPECT_EQ(post_keyed(jobs_path, "abc", body, 200).at("id"), first.at("id"));
  EXPECT_EQ(post_keyed(jobs_path, R"("abc")", body, 200).at("id"), first.at("id"))
      << "quotes are the header's syntax";
  auto const as_member = R"({"idempotency_key":"abc","closures":[{"function":"muster.echo"}]})";
  EXPECT_EQ(post_json(jobs_path, as_member, 200).at("id"), first.at("id"));
  EXPECT_EQ(post_keyed(jobs_path, "abc", as_member, 200).at("id"), first.at("id"));
  auto const other = R"({"closures":[{"function":"muster.sleep"}]})";
  EXPECT_EQ(text_at(post_keyed(jobs_path, "abc", other, 422), "/field"), "idempotency_key");
}

TEST_F(idempotency, a_header_that_contradicts_the_body_or_is_too_long_is_refused) {
  auto const body = R"({"idempotency_key":"abc","closures":[{"function":"muster.echo"}]})";
  EXPECT_EQ(text_at(post_keyed(jobs_path, "abcd", body, 422), "/field"), "Idempotency-Key");
  auto const plain = R"({"closures":[{"function":"muster.echo"}]})";
  auto const refused = post_keyed(jobs_path, std::string(257, 'k'), plain, 400);
  EXPECT_EQ(text_at(refused, "/limit"), "256 bytes");
  EXPECT_EQ(post_keyed(jobs_path, std::string(256, 'k'), plain, 201).at("state"), "QUEUED");
}

// The key is stored in a Protobuf string, which must be UTF-8.
TEST_F(idempotency, a_header_that_is_not_utf8_is_refused) {
  auto const body = R"({"closures":[{"function":"muster.echo"}]})";
  auto const refused = post_keyed(jobs_path, "caf\xe9", body, 400);
  EXPECT_EQ(text_at(refused, "/field"), "Idempotency-Key");
}

TEST_F(idempotency, programs_follow_the_same_rules) {
  auto const body = R"({"command":["true"],"tasks":{"worker":1}})";
  auto const first = post_keyed(programs_path, "once", body, 201);
  EXPECT_EQ(post_keyed(programs_path, "once", body, 200).at("id"), first.at("id"));
  auto const other = R"({"command":["rm","-rf","x"],"tasks":{"worker":3}})";
  auto const refused = post_keyed(programs_path, "once", other, 422);
  EXPECT_EQ(text_at(refused, "/field"), "idempotency_key");
  EXPECT_TRUE(contains(text_at(refused, "/detail"), text_at(first, "/id"))) << refused;
}

std::string digest(std::string_view text) {
  return request_digest(json_ref(text));
}

TEST(request_digest, depends_only_on_the_content) {
  EXPECT_EQ(digest(R"({"a":1,"b":[true,null,"x"]})"),
            digest(R"({ "b" : [true,null,"\u0078"], "a":1 })"));
  EXPECT_EQ(digest(R"({"a":1})"), digest(R"({"a":1,"idempotency_key":"k"})"));
  for (auto const* other :
       {R"({"a":2})", R"({"a":"1"})", R"({"a":[1]})", R"({"b":1})", R"({"a":1,"b":1})",
        R"({"a":{"idempotency_key":"k"}})", R"({})", R"({"a":1.0})"})
    EXPECT_NE(digest(R"({"a":1})"), digest(other)) << other;
  EXPECT_NE(digest(R"({"a":{"idempotency_key":"k"}})"), digest(R"({"a":{}})"))
      << "only the outermost member is the key";
  EXPECT_NE(digest(R"({"a":["x","y"]})"), digest(R"({"a":["xy"]})"));
}

}  // namespace
}  // namespace muster::web::test
