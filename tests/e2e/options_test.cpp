#include <gtest/gtest.h>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace options_cases {

namespace json = boost::json;

std::string id_of(json::value const& job) {
  return json::value_to<std::string>(job.at("id"));
}

TEST(options, outputs_become_arguments_of_other_closures) {
  cluster c;
  c.serve();
  c.worker();
  auto const job = id_of(c.post("/api/v1/jobs", R"({"closures":[
      {"function":"muster.echo","args":[{"a":[1,2]}]},
      {"function":"muster.echo","args":["x",{"$remote_value":"#0"}]},
      {"function":"muster.echo","args":[{"deep":{"$remote_value":"#1"}}]}]})"));
  EXPECT_EQ(c.run({"fetch", job, "--timeout", "20s"}).out,
            "{\"a\":[1,2]}\n[\"x\",{\"a\":[1,2]}]\n{\"deep\":[\"x\",{\"a\":[1,2]}]}\n");
}

TEST(options, failed_input_fails_dependent_closures) {
  cluster c;
  c.serve();
  c.worker();
  auto const job = id_of(c.post("/api/v1/jobs", R"({"on_error":"continue","closures":[
      {"function":"muster.fail","args":["no such file"]},
      {"function":"muster.echo","args":[{"$remote_value":"#0"}]}]})"));
  c.run({"fetch", job, "--timeout", "20s"});
  auto const closures = c.get("/api/v1/jobs/" + job + "/closures").at("closures").as_array();
  auto const& error = closures.at(1).at("error");
  EXPECT_EQ(error.at("kind").as_string(), "INPUT");
  EXPECT_NE(error.at("message").as_string().find("no such file"), json::string::npos);
}

TEST(options, failed_function_is_retried_up_to_max_retries) {
  cluster c;
  c.serve();
  c.worker();
  auto const f = c.run({"submit", "muster.fail", "flaky", "--max-retries", "2", "--retry-delay",
                        "5ms", "--timeout", "20s"});
  EXPECT_EQ(f.status, 1);
  EXPECT_NE(f.err.find("flaky"), std::string::npos) << f.err;
  auto const jobs = c.get("/api/v1/jobs").at("jobs").as_array();
  EXPECT_EQ(jobs.at(0).at("retried").to_number<int>(), 2);
}

TEST(options, deadline_stops_a_running_closure) {
  cluster c;
  c.serve();
  c.worker();
  auto const f =
      c.run({"submit", "muster.sleep", "20000", "--deadline", "100ms", "--timeout", "15s"});
  EXPECT_EQ(f.status, 1);
  EXPECT_NE(f.err.find("its deadline of 100 ms passed while it ran"), std::string::npos) << f.err;
}

TEST(options, value_out_of_range_is_refused_with_its_flag) {
  cluster c;
  c.serve();
  auto const f = c.run({"submit", "muster.noop", "--delay", "soon"});
  EXPECT_NE(f.status, 0);
  EXPECT_NE(f.err.find("--delay: expected a duration"), std::string::npos) << f.err;
}

}  // namespace options_cases
}  // namespace muster::e2e
