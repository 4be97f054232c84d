#include "cli/cluster_flag.hpp"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

using namespace std::chrono_literals;

TEST(cluster_flag, jobs_and_keys_are_parsed) {
  auto const spec = parse_cluster(
      "train:worker=4,ps=2;heartbeat_timeout=30s;register_timeout=5m;shutdown_timeout=0;"
      "stuck_after=10s;recoverable=ps;allow_reconnect=true;register_barrier=false;renew=false;"
      "agents=tls");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->name, "train");
  ASSERT_EQ(spec->jobs.size(), 2u);
  EXPECT_EQ(spec->jobs[0].name, "worker");
  EXPECT_EQ(spec->jobs[0].tasks, 4u);
  EXPECT_FALSE(spec->jobs[0].recoverable);
  EXPECT_TRUE(spec->jobs[1].recoverable);
  EXPECT_EQ(spec->heartbeat_timeout, 30s);
  EXPECT_EQ(spec->register_timeout, 5min);
  EXPECT_EQ(spec->shutdown_timeout, 0s);
  EXPECT_EQ(spec->stuck_after, 10s);
  EXPECT_TRUE(spec->allow_reconnect);
  EXPECT_FALSE(spec->register_barrier);
  EXPECT_FALSE(spec->renew);
  EXPECT_FALSE(spec->recoverable);
  EXPECT_EQ(spec->agents, core::coordination::agent_wire::tls);
}

TEST(cluster_flag, name_alone_declares_no_agents) {
  auto const spec = parse_cluster("default");
  ASSERT_TRUE(spec);
  EXPECT_TRUE(spec->jobs.empty());
}

TEST(cluster_flag, printed_flag_is_parsed_back_unchanged) {
  for (auto const* text :
       {"default", "a:w=1", "a:w=1,p=2;heartbeat_timeout=1m30s;recoverable=w+p;renew=false",
        "a:w=3;recoverable=true;type=other", "a:w=1;agents=tls", "a;torch=29500;torch_era=B"}) {
    auto const spec = parse_cluster(text);
    ASSERT_TRUE(spec) << spec.error().message;
    auto const again = parse_cluster(to_string(*spec));
    ASSERT_TRUE(again) << to_string(*spec);
    EXPECT_EQ(*again, *spec) << to_string(*spec);
  }
}

TEST(cluster_flag, errors_name_the_part_that_is_wrong) {
  struct wrong {
    char const* text;
    char const* part;
  };
  for (auto const& w : {wrong{"", "name"},
                        wrong{"a:", "JOB=N"},
                        wrong{"a:w", "'w'"},
                        wrong{"a:w=0", "'w=0'"},
                        wrong{"a:w=-1", "'w=-1'"},
                        wrong{"a:w=4x", "'w=4x'"},
                        wrong{"a:w=99999999999", "99999999999"},
                        wrong{"a:w=1,w=2", "twice"},
                        wrong{"a b:w=1", "a b"},
                        wrong{"a:w=1;", "known keys"},
                        wrong{"a:w=1;colour=red", "'colour=red'"},
                        wrong{"a:w=1;renew=yes", "'renew=yes'"},
                        wrong{"a:w=1;recoverable=ps", "'ps'"},
                        wrong{"a:w=1;agents=loud", "write plaintext or tls"},
                        wrong{"a:w=1;type=", "'type='"},
                        wrong{"a;torch=65536", "write a port"},
                        wrong{"a;torch=", "write a port"},
                        wrong{"a;torch_era=C", "specify A (PyTorch 1.13 or 2.0)"},
                        wrong{"a:w=1;heartbeat_timeout=fast", "'heartbeat_timeout=fast'"},
                        wrong{"a:w=1;heartbeat_timeout=0", "heartbeat_timeout"}}) {
    auto const spec = parse_cluster(w.text);
    ASSERT_FALSE(spec) << w.text;
    EXPECT_EQ(spec.error().code, muster::code::invalid_argument);
    EXPECT_NE(spec.error().message.find(w.part), std::string::npos)
        << w.text << ": " << spec.error().message;
  }
}

}  // namespace
}  // namespace muster::cli
