#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace durations_cases {

using namespace std::chrono_literals;

struct rest_durations : web_fixture {
  void SetUp() override { start(); }
};

TEST_F(rest_durations, durations_of_a_job_are_grouped_by_function_and_worker) {
  auto& w = add_worker(worker::habit::hold, 3, 4);
  auto const job = submit(2);
  auto const path = "/api/v1/jobs/" + text_at(job, "/id") + "/durations";
  EXPECT_TRUE(eventually([&] { return w.holds() == 2; }));
  auto const none = get_json(path);
  EXPECT_EQ(number_at(none, "/executions"), 0);
  EXPECT_TRUE(none.at("buckets").as_array().empty());
  w.finish_all("1");
  EXPECT_TRUE(eventually([&] { return number_at(get_json(path), "/executions") == 2; }));
  auto const v = get_json(path);
  EXPECT_EQ(number_at(v, "/failed"), 0);
  EXPECT_GE(number_at(v, "/busy_ms"), 0);
  EXPECT_GE(number_at(v, "/buckets/0/up_to_us"), number_at(v, "/buckets/0/most_us"));
  EXPECT_EQ(number_at(v, "/buckets/0/least_us"), number_at(v, "/p50_us"));
  EXPECT_EQ(number_at(v, "/busy_us"), number_at(v, "/p50_us") + number_at(v, "/max_us"));
  EXPECT_LE(number_at(v, "/p90_us"), number_at(v, "/p99_us"));
  EXPECT_LE(number_at(v, "/p99_us"), number_at(v, "/max_us"));
  std::int64_t all = 0;
  for (auto const& b : v.at("buckets").as_array()) {
    all += b.at("executions").as_int64();
    EXPECT_EQ(b.at("failed"), 0);
  }
  EXPECT_EQ(all, 2);
  EXPECT_EQ(text_at(v, "/functions/0/name"), "muster.echo");
  EXPECT_EQ(number_at(v, "/functions/0/executions"), 2);
  EXPECT_EQ(text_at(v, "/workers/0/name"), "worker:3");
  EXPECT_EQ(number_at(v, "/workers/0/failed"), 0);
  EXPECT_EQ(get("/api/v1/jobs/job_zz/durations").status, 404u);
}

}  // namespace durations_cases
}  // namespace muster::web::test
