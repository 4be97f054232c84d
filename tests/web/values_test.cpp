#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

class values : public web_fixture {
 protected:
  void SetUp() override { start(); }
  std::string value_of(json::value const& job, int i = 0) {
    return "/api/v1/remote_values/" +
           text_at(job, "/closures/" + std::to_string(i) + "/remote_value");
  }
};

TEST_F(values, status_changes_from_not_ready_to_ready) {
  auto& w = add_worker(worker::habit::hold);
  auto const path = value_of(submit(1));
  auto const before = get_json(path);
  EXPECT_EQ(text_at(before, "/status"), "NOT_READY");
  w.finish_all(R"({"a":1})");
  auto const after = get_json(path);
  EXPECT_EQ(text_at(after, "/status"), "READY");
  EXPECT_EQ(text_at(after, "/content_type"), "application/json");
  EXPECT_EQ(number_at(after, "/size"), 7);
  EXPECT_EQ(text_at(after, "/worker"), "worker:0");
}

TEST_F(values, value_is_returned_as_json_or_bytes) {
  auto& w = add_worker(worker::habit::hold);
  auto const json_value = value_of(submit(1));
  w.finish_all(R"({"a": 1.0})");
  auto const r = get(json_value + "/value");
  EXPECT_EQ(r.status, 200u);
  EXPECT_EQ(r.header("Content-Type"), "application/json");
  EXPECT_EQ(r.body, R"({"a": 1.0})");

  std::string const bytes("\0\xff\r\n", 4);
  auto const bytes_value = value_of(submit(1));
  w.finish_all(bytes, core::encoding::bytes);
  auto const b = get(bytes_value + "/value");
  EXPECT_EQ(b.header("Content-Type"), "application/octet-stream");
  EXPECT_EQ(b.body, bytes);
}

TEST_F(values, value_can_be_waited_for) {
  auto& w = add_worker(worker::habit::hold);
  auto const path = value_of(submit(1));
  std::thread finisher([&] {
    EXPECT_TRUE(eventually([&] {
      return core_engine().run(
                 [](server::hub& h) { return h.state().overview(h.now()).parked_calls; }) == 1;
    }));
    w.finish_all("42");
  });
  auto const r = get(path + "/value?timeout=9s");
  finisher.join();
  EXPECT_EQ(r.body, "42");
}

TEST_F(values, timed_out_wait_is_a_504) {
  auto const path = value_of(submit(1));
  auto const r = get(path + "/value?timeout=10ms");
  EXPECT_EQ(r.status, 504u);
  EXPECT_EQ(text_at(json::parse(r.body), "/code"), "DEADLINE_EXCEEDED");
}

TEST_F(values, function_error_is_a_422_with_the_failure) {
  auto& w = add_worker(worker::habit::hold);
  auto const path = value_of(submit(1));
  w.fail_all("division by zero");
  auto const r = get(path + "/value");
  EXPECT_EQ(r.status, 422u);
  auto const v = json::parse(r.body);
  EXPECT_EQ(text_at(v, "/detail"), "division by zero");
  EXPECT_EQ(text_at(v, "/failure/kind"), "USER");
  EXPECT_EQ(text_at(get_json(path), "/error/message"), "division by zero");
}

TEST_F(values, cancelled_value_is_a_409) {
  auto const job = submit(1);
  post("/api/v1/jobs/" + text_at(job, "/id") + "/cancel");
  auto const r = get(value_of(job) + "/value");
  EXPECT_EQ(r.status, 409u);
  EXPECT_EQ(text_at(json::parse(r.body), "/code"), "CANCELLED");
}

TEST_F(values, aborted_value_is_a_409) {
  auto const job = submit(1, R"(,"options":{"max_worker_failures":1})");
  add_worker(worker::habit::hold).lose("gone");
  EXPECT_EQ(text_at(get_json(value_of(job)), "/status"), "ABORTED");
  auto const r = get(value_of(job) + "/value");
  EXPECT_EQ(r.status, 409u);
  EXPECT_EQ(text_at(json::parse(r.body), "/code"), "ABORTED");
}

TEST_F(values, large_value_is_complete) {
  auto& w = add_worker(worker::habit::hold);
  auto const path = value_of(submit(1));
  std::string const large(20'000'000, 'x');
  w.finish_all(large, core::encoding::bytes);
  EXPECT_EQ(get(path + "/value").body, large);
}

TEST_F(values, unknown_values_are_not_found) {
  for (auto const* id : {"rv_00000000000000ff", "rv_1", "cl_0000000000000001"}) {
    EXPECT_EQ(get(std::string("/api/v1/remote_values/") + id).status, 404u);
    EXPECT_EQ(get(std::string("/api/v1/remote_values/") + id + "/value").status, 404u);
  }
}

}  // namespace
}  // namespace muster::web::test
