#include <absl/strings/escaping.h>

#include "base/text.hpp"
#include "tests/web/fixture.hpp"
#include "web/json/python_call.hpp"

namespace muster::web::test {
namespace {

class closures : public web_fixture {
 protected:
  void SetUp() override { start(); }
};

TEST_F(closures, are_listed_in_pages_and_by_filter) {
  auto const v = post_json("/api/v1/jobs", R"({"closures":[{"function":"a"},{"function":"b"},
      {"function":"a"},{"function":"b"},{"function":"a"}]})",
                           201);
  auto const path = "/api/v1/jobs/" + text_at(v, "/id") + "/closures";
  auto const first = get_json(path + "?limit=3");
  EXPECT_EQ(first.at("closures").as_array().size(), 3u);
  auto const rest = get_json(path + "?limit=3&page_token=" + text_at(first, "/next_page_token"));
  EXPECT_EQ(rest.at("closures").as_array().size(), 2u);
  EXPECT_FALSE(rest.as_object().contains("next_page_token"));
  EXPECT_EQ(number_at(rest, "/closures/1/index"), 4);

  EXPECT_EQ(get_json(path + "?function=a").at("closures").as_array().size(), 3u);
  EXPECT_EQ(get_json(path + "?function=none").at("closures").as_array().size(), 0u);
  EXPECT_EQ(get_json(path + "?state=QUEUED").at("closures").as_array().size(), 5u);
  EXPECT_EQ(get_json(path + "?state=failed&function=a").at("closures").as_array().size(), 0u);
  EXPECT_EQ(get(path + "?state=LOST").status, 400u);
}

TEST_F(closures, closure_shows_its_state_and_attempts) {
  auto& w = add_worker(worker::habit::hold, 3);
  auto const v = submit(1);
  auto const path = "/api/v1/closures/" + text_at(v, "/closures/0/id");
  auto const running = get_json(path);
  EXPECT_EQ(text_at(running, "/state"), "RUNNING");
  EXPECT_EQ(text_at(running, "/value_status"), "NOT_READY");
  EXPECT_EQ(running.at("args"), (json::value{0}));
  EXPECT_EQ(text_at(running, "/attempts/0/worker"), "worker:3");
  EXPECT_EQ(text_at(running, "/attempts/0/host"), "host-a");
  w.lose("cable cut");
  auto const queued = get_json(path);
  EXPECT_EQ(text_at(queued, "/state"), "QUEUED");
  EXPECT_NE(text_at(queued, "/attempts/0/outcome").find("cable cut"), std::string::npos);
}

// The format is b"MPY2", callable, pickle, text, its length, b"MPYR". With an input, flags, their
// number and b"MPYI" follow.
TEST_F(closures, pickled_call_shows_the_argument_text_of_its_client) {
  auto const text_of = [&](std::string const& call) {
    auto const body = R"({"closures":[{"function":"python:3.11","args":[{"$bytes":")" +
                      absl::Base64Escape(call) + R"("}]}]})";
    auto const job = post_json("/api/v1/jobs", body, 201);
    auto const c = get_json("/api/v1/closures/" + text_at(job, "/closures/0/id"));
    return c.as_object().contains("args_text") ? text_at(c, "/args_text") : "none";
  };
  std::string const call("MPY2\2\0\0\0\0fn.", 12);
  std::string const said("'<b>\xff', 3\t\0\0\0MPYR", 17);
  std::string const origins("\1\1\0\0\0MPYI", 9);
  EXPECT_EQ(text_of(call), "none");
  EXPECT_EQ(text_of(call + said), "'<b>\xef\xbf\xbd', 3");
  EXPECT_EQ(text_of(call + said + origins), "'<b>\xef\xbf\xbd', 3");
  EXPECT_EQ(text_of(call + origins), "none");
  EXPECT_EQ(text_of("MPY3" + said), "none");
  EXPECT_EQ(text_of(std::string("MPY2\xff\xff\xff\xffMPYR", 12)), "none");
  EXPECT_EQ(text_of("MPY2" + std::string(2000, 'x') + std::string("\xd0\7\0\0MPYR", 8)), "none");
}

TEST(python_value_text, is_at_the_end_of_a_pickle_or_in_a_reference) {
  auto const of = [](std::string const& value, core::encoding e = core::encoding::json) {
    return python_value_text(core::blob(value, e));
  };
  auto const described = [](std::string const& text) {
    return "pickle." + text +
           std::string{static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256),
                       0, 0} +
           "MPYR";
  };
  auto const pickled = [](std::string const& bytes) {
    return R"({"$pickle":")" + base64(bytes) + R"("})";
  };
  auto const large = std::string(100'000, 'x') + described("<Batch>");
  EXPECT_EQ(of(described("<Batch>"), core::encoding::bytes), "<Batch>");
  EXPECT_EQ(of(large, core::encoding::bytes), "<Batch>");
  EXPECT_EQ(of(pickled(described("<Batch>"))), "<Batch>");
  EXPECT_EQ(of(pickled(large)), "<Batch>");
  EXPECT_EQ(of(pickled("a" + large)), "<Batch>");
  EXPECT_EQ(of(pickled("ab" + large)), "<Batch>");
  std::string const longest(python_text_max, 'y'), too_long(python_text_max + 1, 'y');
  EXPECT_EQ(of(described(longest), core::encoding::bytes), longest);
  EXPECT_EQ(of(pickled(described(longest))), longest);
  EXPECT_EQ(of(described(too_long), core::encoding::bytes), "");
  EXPECT_EQ(of(pickled(described(too_long))), "");
  auto const reference = R"({"$blob":")" + std::string(64, 'a') + R"(","bytes":9)";
  EXPECT_EQ(of(reference + R"(,"text":"int\u0041\n"})"), "intA\n");
  for (auto const& none :
       {std::string(), std::string("[1]"), std::string(R"({"$pickle":""})"),
        std::string(R"({"$pickle":"AAA"})"), std::string(R"({"$pickle":"!!!!"})"),
        pickled("pickle."), reference + "}", reference + R"(,"text":9})", reference,
        described("<Batch>"), "[1]" + described("<Batch>")})
    EXPECT_EQ(of(none), "") << none;
  EXPECT_EQ(of(std::string("\xff\xff\xff\xffMPYR", 8), core::encoding::bytes), "");
}

// A worker that answers quickly is sent more closures than it has slots.
TEST_F(closures, prefetched_closure_is_queued_and_names_its_worker) {
  auto& w = add_worker(worker::habit::hold, 3, 1);
  json::value last;
  ASSERT_TRUE(eventually([&] {
    auto const job = text_at(submit(2), "/id");
    last = get_json("/api/v1/jobs/" + job + "/closures").at("closures").at(1);
    if (last.as_object().contains("sent_to")) return true;
    while (w.holds() > 0) w.finish_all();
    return false;
  }));
  EXPECT_EQ(text_at(last, "/state"), "QUEUED");
  EXPECT_EQ(text_at(last, "/sent_to"), "worker:3");
  EXPECT_TRUE(last.at("attempts").as_array().empty());
}

TEST_F(closures, explain_reports_why_a_closure_waits) {
  auto const v = submit(1);
  auto const e = get_json("/api/v1/closures/" + text_at(v, "/closures/0/id") + "/explain");
  EXPECT_EQ(text_at(e, "/state"), "QUEUED");
  EXPECT_FALSE(text_at(e, "/explanation").empty());
}

TEST_F(closures, closure_can_be_cancelled) {
  auto const v =
      post_json("/api/v1/jobs",
                R"({"on_error":"continue","closures":[{"function":"a"},{"function":"a"}]})", 201);
  auto const path = "/api/v1/closures/" + text_at(v, "/closures/0/id");
  EXPECT_EQ(text_at(post_json(path + "/cancel", ""), "/state"), "CANCELLED");
  EXPECT_EQ(text_at(post_json(path + "/cancel", ""), "/state"), "CANCELLED");
  EXPECT_EQ(text_at(get_json("/api/v1/closures/" + text_at(v, "/closures/1/id")), "/state"),
            "QUEUED");
}

TEST_F(closures, unknown_closures_are_not_found) {
  for (auto const* id : {"cl_00000000000000ff", "cl_1", "rv_0000000000000001"}) {
    auto const path = std::string("/api/v1/closures/") + id;
    EXPECT_EQ(get(path).status, 404u);
    EXPECT_EQ(get(path + "/explain").status, 404u);
    EXPECT_EQ(post(path + "/cancel").status, 404u);
  }
}

TEST_F(closures, options_are_returned) {
  auto const job = post_json("/api/v1/jobs",
                             R"({"options":{"weight":3,"deadline":"1h"},
                             "closures":[{"function":"f","options":{"max_retries":2,
                             "retry_delay":"2s","retry_delay_max":"9s"}}]})",
                             201);
  auto const view = get_json("/api/v1/jobs/" + text_at(job, "/id"));
  EXPECT_EQ(number_at(view, "/weight"), 3);
  EXPECT_GT(number_at(view, "/deadline_ms"), number_at(view, "/created_ms"));
  auto const c = get_json("/api/v1/closures/" + text_at(job, "/closures/0/id"));
  EXPECT_EQ(number_at(c, "/max_retries"), 2);
  EXPECT_EQ(number_at(c, "/retries"), 0);
  EXPECT_EQ(number_at(c, "/retry_delay_ms"), 2'000);
  EXPECT_EQ(number_at(c, "/retry_delay_max_ms"), 9'000);
}

}  // namespace
}  // namespace muster::web::test
