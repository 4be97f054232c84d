// A server opens directories of older versions: those below tests/disk/old, made by
// make_old_directory.sh with each version.
#include <gtest/gtest.h>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;

class old_directory : public testing::TestWithParam<std::string> {};

TEST_P(old_directory, is_opened_with_all_its_entries) {
  cluster c;
  auto const data = c.file("data");
  fs::copy(fs::path(OLD_DIRECTORIES) / GetParam(), data, fs::copy_options::recursive);
  auto const checked = c.run({"data", "check", data.string()});
  EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
  for (int start = 0; start < 2; ++start) {  // the second time as this version has written it
    auto& server =
        c.serve({"--data-dir", data.string(), "--cluster", "train:worker=2", "--value-age", "0"});
    EXPECT_EQ(c.run({"kv", "get", "config/a"}).out, "hello");
    EXPECT_EQ(c.run({"kv", "get", "config/b"}).status, 1);
    EXPECT_EQ(c.run({"kv", "get", "binary"}).out, std::string("\0\377", 2));
    auto const made = c.get("/api/v1/clusters/made-by-rest");
    EXPECT_EQ(made.at("jobs").at("worker"), 3) << made;
    auto const value = c.run({"fetch", "job_0000000000000001"});
    EXPECT_EQ(value.out, "\"a value\"\n") << value.err;
    auto const failed = c.run({"fetch", "job_0000000000000002"});
    EXPECT_EQ(failed.status, 1);
    EXPECT_NE(failed.err.find("no such column"), std::string::npos) << failed.err;
    auto const waiting = c.get("/api/v1/jobs/job_0000000000000003");
    EXPECT_EQ(waiting.at("name"), "waiting") << waiting;
    EXPECT_EQ(waiting.at("counts").at(start == 0 ? "queued" : "succeeded"), 1) << waiting;
    if (start == 0) {
      auto& worker = c.worker({"--slots", "1"});
      EXPECT_TRUE(c.await_count("job_0000000000000003", "succeeded", 1)) << worker.errors();
      worker.signal(SIGTERM);
      EXPECT_EQ(worker.wait(), 0);
    }
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0) << server.errors();
  }
}

std::vector<std::string> all_of_them() {
  std::vector<std::string> names;
  for (auto const& e : fs::directory_iterator(OLD_DIRECTORIES))
    names.push_back(e.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string readable(testing::TestParamInfo<std::string> const& info) {
  auto name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(each, old_directory, testing::ValuesIn(all_of_them()), readable);

}  // namespace
}  // namespace muster::e2e
