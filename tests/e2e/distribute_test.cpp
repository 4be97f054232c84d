// The distribute coordinator in real processes: `muster run`, a server, and examples/distribute.cpp
// as every task.
#include <gtest/gtest.h>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

TEST(distribute, muster_run_and_the_example_train_with_parameter_servers) {
  cluster c;
  c.serve();
  auto const spec = c.write("cluster.json", R"({"chief": ["h:1"], "worker": ["h:2", "h:3"],
                                                "ps": ["h:4"]})");
  auto const r = c.run({"run", "--cluster-file", spec, "--server", c.grpc(), "--no-prefix", "--",
                        MUSTER_EXAMPLES "distribute"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, "3 workers counted to 300\n") << r.err;
}

}  // namespace
}  // namespace muster::e2e
