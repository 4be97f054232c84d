#include <gtest/gtest.h>

#include "app/cluster_following.hpp"
#include "cli/cluster_flag.hpp"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;

TEST(cluster_from_flag, resolver_kind_alone_has_the_defaults) {
  auto const source = parse_cluster_from(R"(simple:{"worker": ["a|b;c", "d"]})");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->declaration, core::coordination::cluster_spec());
  EXPECT_EQ(source->every, 30s);
  EXPECT_EQ(source->timeout, 2min);
  EXPECT_EQ(source->resolver->cluster_spec().num_tasks("worker"), 2u);
}

TEST(cluster_from_flag, keys_follow_a_vertical_bar) {
  auto const source = parse_cluster_from(
      R"(simple:{"ps": ["a"]};task_id=0|name=train;every=10s;timeout=0;heartbeat_timeout=30s;)"
      "renew=false;recoverable=ps+worker");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->declaration.name, "train");
  EXPECT_EQ(source->declaration.heartbeat_timeout, 30s);
  EXPECT_FALSE(source->declaration.renew);
  EXPECT_FALSE(source->declaration.recoverable);
  EXPECT_EQ(source->recoverable_jobs, (std::vector<std::string>{"ps", "worker"}));
  EXPECT_EQ(source->every, 10s);
  EXPECT_EQ(source->timeout, 0s);
  EXPECT_TRUE(parse_cluster_from("tf-config|recoverable=true")->declaration.recoverable);
}

TEST(cluster_from_flag, errors_name_the_part_that_is_wrong) {
  struct {
    char const* text;
    char const* part;
  } const all[] = {{"", "unknown resolver kind ''"},
                   {"tf-config|", "''"},
                   {"tf-config|name=", "name: ''"},
                   {"tf-config|name=a b", "a b"},
                   {"tf-config|name=a:w=1", "a name must not contain ':'"},
                   {"tf-config|every=0", "'every=0'"},
                   {"tf-config|timeout=soon", "'timeout=soon'"},
                   {"tf-config|recoverable=", "'recoverable='"},
                   {"tf-config|colour=red", "and name, every, timeout"},
                   {"tf-config:colour=red", "unknown key 'colour'"}};
  for (auto const& one : all) {
    auto const source = parse_cluster_from(one.text);
    ASSERT_FALSE(source) << one.text;
    EXPECT_NE(source.error().message.find(one.part), std::string::npos)
        << one.text << ": " << source.error().message;
  }
}

TEST(cluster_source, job_size_is_its_highest_index_plus_one) {
  server::cluster_source source;
  source.recoverable_jobs = {"ps"};
  auto const spec = declared(
      source, cluster_spec::from_json(R"({"worker": ["a", "b"], "ps": {"4": "c"}, "x": {}})"));
  ASSERT_TRUE(spec) << spec.error().message;
  ASSERT_EQ(spec->jobs.size(), 2u);
  EXPECT_EQ(spec->jobs[0], (core::coordination::job_spec{"ps", 5, true}));
  EXPECT_EQ(spec->jobs[1], (core::coordination::job_spec{"worker", 2, false}));
}

}  // namespace
}  // namespace muster::cli
