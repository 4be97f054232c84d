#include "server/hub/id_parsing.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

struct callables : web_fixture {
  /// Opens a session that holds values, and schedules a closure that calls train.step.
  std::string schedule() {
    return core_engine().run([](server::hub& h) {
      core::open_session open;
      open.spec.delivery = core::delivery::unary;
      auto const session = std::get<core::session_reply>(h.ask_now(open).body).session;
      core::schedule e;
      e.session = session;
      e.callables = {{"train.step", std::string(core::callable_hash_bytes, '\xf1')}};
      auto& c = e.closures.emplace_back();
      c.function = h.learn({"python:3.11"}).ids.at(0);
      c.callable = 1;
      c.token = 1;
      h.ask_now(std::move(e));
      return core::text(session);
    });
  }
};

TEST_F(callables, are_shown_with_their_function) {
  start();
  auto const job = schedule();
  auto const all = get_json("/api/v1/jobs/" + job + "/closures");
  auto const& listed = all.at("closures").at(0);
  EXPECT_EQ(text_at(listed, "/function"), "python:3.11");
  EXPECT_EQ(text_at(listed, "/display_name"), "train.step");
  EXPECT_EQ(text_at(listed, "/callable").substr(0, 4), "f1f1");
  auto const id = text_at(listed, "/id");
  EXPECT_EQ(text_at(get_json("/api/v1/closures/" + id), "/display_name"), "train.step");
  auto const explained = get_json("/api/v1/closures/" + id + "/explain");
  EXPECT_EQ(text_at(explained, "/display_name"), "train.step");
  auto const values = get_json("/api/v1/remote_values");
  EXPECT_EQ(text_at(values.at("remote_values").at(0), "/display_name"), "train.step");
}

TEST_F(callables, can_be_named_by_rest_jobs) {
  start();
  std::string const hash(64, 'e');
  auto const named =
      R"("function":"muster.echo","display_name":"train.step","callable":")" + hash + '"';
  auto const job = post_json(
      "/api/v1/jobs",
      R"({"open":true,"closures":[{)" + named + R"(},{"function":"muster.echo"},{)" + named + "}]}",
      201);
  auto const id = text_at(job, "/id");
  post_json("/api/v1/jobs/" + id + "/closures",
            R"([{"function":"muster.echo","display_name":"eval é"}])", 200);
  auto const all = get_json("/api/v1/jobs/" + id + "/closures").at("closures");
  ASSERT_EQ(all.as_array().size(), 4u);
  for (auto const i : {0, 2}) {
    auto const& c = all.at(static_cast<std::size_t>(i));
    EXPECT_EQ(text_at(c, "/function"), "muster.echo");
    EXPECT_EQ(text_at(c, "/display_name"), "train.step");
    EXPECT_EQ(text_at(c, "/callable"), hash);
  }
  EXPECT_EQ(all.at(1).as_object().if_contains("display_name"), nullptr);
  EXPECT_EQ(text_at(all.at(3), "/display_name"), "eval é");
  EXPECT_EQ(all.at(3).as_object().if_contains("callable"), nullptr);
  auto const found = get_json("/api/v1/jobs/" + id + "/closures?function=train.step");
  EXPECT_EQ(found.at("closures").as_array().size(), 2u);
  auto const map = post_json(
      "/api/v1/jobs",
      R"({"map":{"function":"muster.echo","display_name":"square","args":[[1],[2]]}})", 201);
  auto const squares = get_json("/api/v1/jobs/" + text_at(map, "/id") + "/closures").at("closures");
  EXPECT_EQ(text_at(squares.at(1), "/display_name"), "square");
}

TEST_F(callables, invalid_callables_are_refused_by_field) {
  start();
  auto const refused = [&](std::string const& members, unsigned status) {
    auto const r =
        post("/api/v1/jobs", R"({"closures":[{"function":"muster.echo",)" + members + "}]}");
    EXPECT_EQ(r.status, status) << members << r.body;
    return text_at(json::parse(r.body), "/field");
  };
  EXPECT_EQ(refused(R"("display_name":"")", 400), "closures[0].display_name");
  EXPECT_EQ(refused(R"("display_name":"a\nb")", 400), "closures[0].display_name");
  EXPECT_EQ(refused(R"("display_name":")" + std::string(257, 'x') + '"', 400),
            "closures[0].display_name");
  std::string wide;
  for (int i = 0; i < 200; ++i) wide += "é";
  EXPECT_EQ(refused(R"("display_name":")" + wide + '"', 422), "closures[0].display_name");
  EXPECT_EQ(refused(R"("display_name":"f","callable":"abc")", 400), "closures[0].callable");
  EXPECT_EQ(refused(R"("callable":")" + std::string(64, 'a') + '"', 422), "closures[0]");
}

}  // namespace
}  // namespace muster::web::test
