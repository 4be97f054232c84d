#include <gtest/gtest.h>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

TEST(machines_e2e, worker_and_server_are_listed_until_the_worker_leaves) {
  cluster c;
  c.serve();
  auto& worker = c.worker({});
  ASSERT_TRUE(c.await_tasks(1));
  auto const machines = [&] { return c.get("/api/v1/machines").at("machines").as_array(); };
  ASSERT_TRUE(await([&] { return machines().size() == 2; }));
  auto const all = machines();
  EXPECT_EQ(all[0].at("kind").as_string(), "server");
  EXPECT_EQ(all[1].at("task").as_string(), "worker:0");
  for (auto const& one : all) {
    auto const& m = one.at("machine").as_object();
    EXPECT_GT(m.at("memory_total_bytes").to_number<std::uint64_t>(), 0u);
    EXPECT_GE(m.at("cpu").to_number<double>(), 0);
    EXPECT_FALSE(one.at("host").as_string().empty());
  }
  auto const top = c.run({"top", "--once", "--url", c.url()});
  EXPECT_NE(top.out.find("CPU  MEMORY"), std::string::npos) << top.out;
  EXPECT_NE(top.out.find(" %"), std::string::npos) << top.out;
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_TRUE(await([&] { return !machines()[1].as_object().contains("machine"); }));
}

}  // namespace
}  // namespace muster::e2e
