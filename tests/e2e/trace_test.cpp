#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;

std::size_t closures_in(std::string const& trace) {
  auto const all = json::parse(trace);
  std::size_t n = 0;
  for (auto const& e : all.at("traceEvents").as_array())
    n += e.at("ph") == "X" && e.at("cat") == "closure";
  return n;
}

TEST(trace, trace_of_a_job_is_written_to_a_file_or_stdout) {
  cluster c;
  c.serve();
  c.worker();
  auto const submitted = c.run({"submit", "muster.echo", "1", "--no-wait"}).out;
  auto const job = submitted.substr(0, submitted.find_first_of(" \n"));
  EXPECT_EQ(c.run({"fetch", job, "--timeout", "20s"}).status, 0);
  auto const printed = c.run({"trace", job});
  ASSERT_EQ(printed.status, 0) << printed.err;
  EXPECT_EQ(closures_in(printed.out), 1u);

  auto const path = c.file("trace.json");
  auto const saved = c.run({"trace", job, "-o", path.string()});
  ASSERT_EQ(saved.status, 0) << saved.err;
  EXPECT_EQ(saved.out, "");
  auto const text = read_file(path);
  EXPECT_EQ(closures_in(text), 1u);

  EXPECT_EQ(c.run({"trace", "job_00000000000000ff", "-o", path.string()}).status, 1);
  EXPECT_EQ(std::filesystem::file_size(path), text.size())
      << "a refused request leaves the file unchanged";
}

TEST(trace, trace_of_a_period_contains_its_closures) {
  cluster c;
  c.serve();
  c.worker();
  ASSERT_EQ(c.run({"submit", "muster.sleep", R"("20ms")"}).status, 0);
  std::size_t found = 0;
  for (int i = 0; i < 100 && found == 0; ++i) {  // bars appear when their 100 ms are over
    auto const done = c.run({"trace", "--from", "10m"});
    ASSERT_EQ(done.status, 0) << done.err;
    found = closures_in(done.out);
  }
  EXPECT_EQ(found, 1u);
  auto const before = c.run({"trace", "--from", "20m", "--to", "10m"});
  EXPECT_EQ(before.status, 0) << before.err;
  EXPECT_EQ(closures_in(before.out), 0u);
  EXPECT_EQ(closures_in(c.run({"trace", "--from", "1000", "--to", "2000"}).out), 0u);
}

TEST(trace, needs_exactly_one_subject) {
  cluster c;
  c.serve();
  EXPECT_EQ(c.run({"trace"}).status, 2);
  EXPECT_EQ(c.run({"trace", "job_0000000000000001", "--from", "1m"}).status, 2);
  auto const odd = c.run({"trace", "--from", "yesterday"});
  EXPECT_EQ(odd.status, 2);
  EXPECT_NE(odd.err.find("yesterday"), std::string::npos) << odd.err;
  EXPECT_EQ(c.run({"trace", "--from", "5m", "--to", "10m"}).status, 1);
}

}  // namespace
}  // namespace muster::e2e
