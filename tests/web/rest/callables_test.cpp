// What a Python closure calls, over REST: in the listing of its job, of values, alone, explained.
#include "server/hub/id_text.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

struct callables : web_fixture {
  /// A session that holds values, with one closure that calls train.step.
  std::string schedule() {
    return core_engine().run([](server::hub& h) {
      core::open_session open;
      open.spec.delivery = core::delivery::calls;
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

}  // namespace
}  // namespace muster::web::test
