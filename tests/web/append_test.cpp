#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

class append : public web_fixture {
 protected:
  void open(core::config config = {}, web_options options = {}) {
    start(options, config);
    id_ = text_at(post_json("/api/v1/jobs", R"({"open":true})", 201), "/id");
    path_ = "/api/v1/jobs/" + id_ + "/closures";
  }
  http_response lines(std::string const& text) { return post(path_, text, "application/x-ndjson"); }
  std::int64_t total() { return number_at(get_json("/api/v1/jobs/" + id_), "/counts/total"); }

  std::string id_, path_;
};

TEST_F(append, json_array_returns_the_new_ids) {
  open();
  auto const v = post_json(path_, R"([{"function":"a","args":[1]},{"function":"b"}])");
  EXPECT_EQ(number_at(v, "/accepted"), 2);
  EXPECT_EQ(v.at("closures").as_array().size(), 2u);
  EXPECT_EQ(number_at(v, "/counts/total"), 2);
}

TEST_F(append, ndjson_of_many_chunks_is_appended_in_order) {
  open();
  std::string text;
  for (int i = 0; i < 2'500; ++i)
    text += R"({"function":"f","args":[)" + std::to_string(i) + "]}" + (i % 3 ? "\n" : "\r\n\n");
  auto const r = lines(text);
  ASSERT_EQ(r.status, 200u) << r.body;
  EXPECT_EQ(number_at(json::parse(r.body), "/accepted"), 2'500);
  auto const last = get_json(
      path_ + "?page_token=" + text_at(get_json(path_ + "?limit=1000"), "/next_page_token") +
      "&limit=1000");
  EXPECT_EQ(last.at("closures").at(999).at("args"), (json::value{1999}));
}

TEST_F(append, last_line_needs_no_newline) {
  open();
  EXPECT_EQ(number_at(json::parse(lines("{\"function\":\"f\"}").body), "/accepted"), 1);
  EXPECT_EQ(number_at(json::parse(lines("\n\n").body), "/accepted"), 0);
}

TEST_F(append, invalid_line_is_named_and_its_chunk_is_not_appended) {
  open();
  std::string text;
  for (int i = 0; i < 1'500; ++i) text += "{\"function\":\"f\"}\n";
  auto const r = lines(text + "{\"function\":7}\n");
  EXPECT_EQ(r.status, 400u);
  auto const v = json::parse(r.body);
  EXPECT_EQ(number_at(v, "/line"), 1'501);
  EXPECT_EQ(number_at(v, "/accepted"), 1'000);
  EXPECT_EQ(text_at(v, "/detail"), "line 1501: function: expected a string, got number");
  EXPECT_EQ(total(), 1'000);
  EXPECT_EQ(lines("{\"function\":\n").status, 400u);
}

TEST_F(append, refusal_names_its_line) {
  open();
  std::string text = "\n";
  for (int i = 0; i < 1'200; ++i) text += "{\"function\":\"f\"}\n";
  auto const r =
      lines(text + R"({"function":"f","args":[{"$remote_value":"rv_00000000000000ff"}]})" +
            "\n{\"function\":\"f\"}\n");
  EXPECT_EQ(r.status, 404u) << r.body;
  auto const v = json::parse(r.body);
  EXPECT_EQ(number_at(v, "/line"), 1'202);
  EXPECT_EQ(number_at(v, "/accepted"), 1'000);
  EXPECT_EQ(text_at(v, "/field"), "args");
  EXPECT_TRUE(text_at(v, "/detail").starts_with("line 1202: args: there is no ")) << r.body;
  // An error that concerns no single line is reported at the first line that was not accepted.
  post_json("/api/v1/jobs/" + id_ + "/seal", "");
  EXPECT_EQ(
      number_at(json::parse(lines("\n{\"function\":\"f\"}\n{\"function\":\"f\"}\n").body), "/line"),
      2);
}

TEST_F(append, full_queue_reports_the_number_of_appended_lines) {
  core::config config;
  config.queue_capacity = 1'500;
  open(config);
  std::string text;
  for (int i = 0; i < 3'000; ++i) text += "{\"function\":\"f\"}\n";
  auto const r = lines(text);
  EXPECT_EQ(r.status, 429u) << r.body;
  EXPECT_EQ(number_at(json::parse(r.body), "/accepted"), 1'000);
  EXPECT_NE(r.header("Retry-After"), "");
}

TEST_F(append, length_of_a_line_is_limited_but_not_of_the_body) {
  web_options options;
  options.body_limit_bytes = 10'000;
  open({}, options);
  auto const line = [](std::size_t n) {
    return R"({"function":"f","args":[")" + std::string(n, 'x') + "\"]}\n";
  };
  std::string many;
  for (int i = 0; i < 50; ++i) many += line(5'000);
  EXPECT_EQ(lines(many).status, 200u);
  auto const r = lines(line(100'000));
  EXPECT_EQ(r.status, 413u) << r.body;
  EXPECT_EQ(text_at(json::parse(r.body), "/limit"), "10000 bytes");
  EXPECT_EQ(total(), 50);
}

TEST_F(append, repeated_upload_adds_no_duplicates) {
  open();
  path_ += "?first=0";
  std::string text;
  for (int i = 0; i < 1'500; ++i)
    text += R"({"function":"f","args":[)" + std::to_string(i) + "]}\n";
  EXPECT_EQ(lines(text.substr(0, text.find('\n', text.size() / 3) + 1)).status, 200u);
  auto const had = total();
  EXPECT_GT(had, 400);
  auto const again = lines(text);
  ASSERT_EQ(again.status, 200u) << again.body;
  EXPECT_EQ(number_at(json::parse(again.body), "/accepted"), 1'500) << "the job has all closures";
  EXPECT_EQ(total(), 1'500);
  auto const middle = get_json("/api/v1/jobs/" + id_ + "/closures?limit=1000").at("closures");
  for (std::size_t n : {std::size_t{0}, static_cast<std::size_t>(had), std::size_t{999}})
    EXPECT_EQ(middle.at(n).at("args"), (json::value{n}));
}

TEST_F(append, existing_closures_are_answered_with_their_ids) {
  open();
  auto const first = post_json(path_ + "?first=0", R"([{"function":"a"},{"function":"b"}])");
  auto const again =
      post_json(path_ + "?first=1",
                R"([{"function":"b"},{"function":"c","args":[{"$remote_value":"#0"}]},
          {"function":"d","args":[{"$remote_value":"#1"}]}])");
  EXPECT_EQ(again.at("closures").at(0).at("id"), first.at("closures").at(1).at("id"));
  EXPECT_EQ(number_at(again, "/counts/total"), 4);
  auto const input = [&](std::size_t n) {
    auto const id = std::string(again.at("closures").at(n).at("id").as_string());
    return std::string(get_json("/api/v1/closures/" + id).at("inputs").at(0).as_string());
  };
  EXPECT_EQ(input(1), again.at("closures").at(0).at("remote_value").as_string());
  EXPECT_EQ(input(2), again.at("closures").at(1).at("remote_value").as_string());
}

TEST_F(append, position_beyond_the_end_of_the_job_is_refused) {
  open();
  auto const r = post(path_ + "?first=3", R"([{"function":"f"}])");
  EXPECT_EQ(r.status, 422u);
  auto const v = json::parse(r.body);
  EXPECT_EQ(text_at(v, "/field"), "first");
  EXPECT_EQ(text_at(v, "/detail"), "first: 3, but the job has 0 closures; the next position is 0");
  EXPECT_EQ(post(path_ + "?first=-1", "[]").status, 400u);
  EXPECT_EQ(total(), 0);
}

TEST_F(append, sealed_job_refuses_closures) {
  open();
  post("/api/v1/jobs/" + id_ + "/seal");
  EXPECT_EQ(post(path_, "[{\"function\":\"f\"}]").status, 409u);
  EXPECT_EQ(lines("{\"function\":\"f\"}\n").status, 409u);
}

TEST_F(append, chunked_body_in_small_pieces_is_accepted) {
  open();
  raw_socket s(port());
  s.send("POST " + path_ +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
         "Transfer-Encoding: chunked\r\n\r\n");
  for (char const c : std::string("{\"function\":\"f\"}\n{\"function\":\"g\"}\n"))
    s.send(std::string("1\r\n") + c + "\r\n");
  s.send("0\r\n\r\n");
  auto const answer = s.receive_until("accepted\":2");
  EXPECT_NE(answer.find("200 OK"), std::string::npos) << answer;
}

}  // namespace
}  // namespace muster::web::test
