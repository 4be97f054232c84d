#include <gtest/gtest.h>

#include "muster/cluster_coordinator.hpp"
#include "muster/session.hpp"
#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

std::string const hash(64, 'e');

boost::json::array closures_of(cluster& c, std::string const& job) {
  return c.get("/api/v1/jobs/" + job + "/closures").at("closures").as_array();
}

std::string text(boost::json::value const& closure, char const* field) {
  auto const* const v = closure.as_object().if_contains(field);
  return v ? std::string(v->as_string()) : "none";
}

TEST(callables, callables_of_coordinators_are_shown) {
  cluster c;
  c.serve();
  c.worker();
  cluster_coordinator to({.server = c.grpc()});
  auto const named =
      to.with({.display_name = "train.step", .callable = hash}).schedule<int>("muster.echo", 1);
  auto const plain = to.schedule<int>("muster.echo", 2);
  auto const prior =
      to.with({.priority = 5, .display_name = "eval"}).schedule<int>("muster.echo", 3);
  EXPECT_TRUE(to.join(std::chrono::seconds(20)));
  EXPECT_EQ(named.fetch() + plain.fetch() + prior.fetch(), 6);
  auto const all = closures_of(c, to.id());
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(text(all[0], "function"), "muster.echo");
  EXPECT_EQ(text(all[0], "display_name"), "train.step");
  EXPECT_EQ(text(all[0], "callable"), hash);
  EXPECT_EQ(text(all[1], "display_name"), "none");
  EXPECT_EQ(text(all[2], "display_name"), "eval");
  EXPECT_EQ(text(all[2], "callable"), "none");
  EXPECT_NE(c.text("/metrics").find("\"train.step\""), std::string::npos);
}

TEST(callables, callables_of_session_streams_are_shown) {
  cluster c;
  c.serve();
  session s({.server = c.grpc()});
  auto const plain = s.function("f"), named = s.function("f", "train.step", hash);
  EXPECT_EQ(named, s.function("f", "train.step", hash));
  EXPECT_EQ(plain, s.function("f", ""));
  for (auto const f : {plain, named, plain, s.function("f", "other")}) s.schedule(f, {"[]"}, 1);
  s.wait_open();
  auto const queued = [&] { return closures_of(c, s.id()).size() == 4; };
  ASSERT_TRUE(await(queued));
  auto const all = closures_of(c, s.id());
  EXPECT_EQ(text(all[0], "display_name"), "none");
  EXPECT_EQ(text(all[1], "display_name"), "train.step");
  EXPECT_EQ(text(all[1], "callable"), hash);
  EXPECT_EQ(text(all[2], "display_name"), "none");
  EXPECT_EQ(text(all[3], "display_name"), "other");
}

TEST(callables, invalid_callables_are_refused_before_sending) {
  cluster_coordinator to({.server = "127.0.0.1:1"});
  session s({.server = "127.0.0.1:1"});
  using strings = std::pair<std::string, std::string>;
  for (auto const& [name, digits] :
       {strings{"a\nb", ""}, strings{std::string(257, 'x'), ""}, strings{"\xff", ""},
        strings{"", hash}, strings{"f", "abc"}, strings{"f", std::string(64, 'E')}}) {
    auto const one = to.with({.display_name = name, .callable = digits});
    EXPECT_THROW(one.schedule<int>("f"), std::invalid_argument) << name << digits;
    EXPECT_THROW(s.function("f", name, digits), std::invalid_argument) << name << digits;
  }
}

TEST(callables, callables_of_rest_jobs_are_shown) {
  cluster c;
  c.serve();
  auto const job =
      c.post("/api/v1/jobs", R"({"map":{"function":"f","display_name":"square","callable":")" +
                                 hash + R"(","args":[[1],[2]]}})");
  auto const all = closures_of(c, std::string(job.at("id").as_string()));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(text(all[1], "display_name"), "square");
  EXPECT_EQ(text(all[1], "callable"), hash);
}

}  // namespace
}  // namespace muster::e2e
