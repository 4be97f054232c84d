// Ids are unique, and values share one limit.
#include "server/core/api/server_wide.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

struct two_coordinators : testing::Test {
  server_wide wide{start};
  config limits{.value_bytes_max = 1000};
  coordinator a{limits, start, wide}, b{limits, start, wide};
  std::uint64_t last_call = 0;

  reply ask(coordinator& c, auto e) {
    e.call = call_id{++last_call};
    auto const& fx = c.step(start, e);
    return fx.replies.at(0);
  }
  session_reply open(coordinator& c, std::size_t closures) {
    auto const learned = ask(c, learn_functions{{}, {"f"}});
    open_session e;
    for (std::size_t i = 0; i < closures; ++i) {
      closure_spec spec;
      spec.function = std::get<functions_reply>(learned.body).ids.at(0);
      spec.args = blob("[]");
      e.closures.push_back(spec);
    }
    auto const answer = ask(c, std::move(e));
    EXPECT_TRUE(answer.status.ok()) << answer.status.message;
    auto const* opened = std::get_if<session_reply>(&answer.body);
    return opened ? *opened : session_reply{};
  }
  void attach(coordinator& c) {
    worker_attached e{stream_id{1}, {}};
    e.spec.incarnation = incarnation{7};
    e.spec.functions = {"f"};
    c.step(start, e);
  }
  session_id kept(coordinator& c, std::size_t bytes) {
    auto const job = open(c, 1);
    worker_results e{stream_id{1}, {}};
    e.results.push_back({job.closures.at(0), 1, true, blob(std::string(bytes, '1')), {}});
    c.step(start, e);
    return job.session;
  }
};

TEST_F(two_coordinators, ids_belong_to_one_coordinator_only) {
  auto const first = open(a, 1), second = open(b, 1), third = open(a, 1);
  EXPECT_EQ(raw(first.session) + 1, raw(second.session));
  EXPECT_EQ(raw(second.session) + 1, raw(third.session));
  EXPECT_FALSE(a.sessions().find(second.session));
  EXPECT_TRUE(b.sessions().find(second.session));
  EXPECT_NE(first.closures, second.closures);
  EXPECT_FALSE(a.closures().find(second.closures.at(0)));
  EXPECT_FALSE(b.closures().find(first.closures.at(0)));
}

TEST_F(two_coordinators, each_coordinator_can_use_half_and_what_the_other_leaves_free) {
  attach(a);
  attach(b);
  auto const old = kept(a, 450), young = kept(a, 450);
  EXPECT_TRUE(a.sessions().find(old)) << "the other one has no values";
  auto const mine = kept(b, 450);
  EXPECT_TRUE(b.sessions().find(mine)) << "less than half";
  a.step(start, tick{});
  EXPECT_FALSE(a.sessions().find(old)) << "the oldest makes room for the other coordinator";
  EXPECT_TRUE(a.sessions().find(young));
  EXPECT_TRUE(b.sessions().find(mine));
  EXPECT_EQ(wide.value_bytes.used(), 900u);
  EXPECT_EQ(a.violated_invariant(), "");
  EXPECT_EQ(b.violated_invariant(), "");
}

TEST_F(two_coordinators, removed_coordinator_frees_its_share) {
  {
    coordinator c{limits, start, wide};
    attach(c);
    kept(c, 900);
    EXPECT_EQ(wide.value_bytes.used(), 900u);
  }
  EXPECT_EQ(wide.value_bytes.used(), 0u);
  EXPECT_EQ(wide.coordinators, 2u);
}

TEST(shared_budget, share_is_what_others_leave_but_at_least_an_even_part) {
  shared_budget all;
  budget_share one(all);
  one.add(90);
  EXPECT_EQ(one.most(100), 100u) << "it is the only one";
  {
    budget_share other(all);
    EXPECT_EQ(other.most(100), 50u);
    EXPECT_EQ(one.most(100), 100u) << "the rest is unused";
    other.add(30);
    EXPECT_EQ(one.most(100), 70u);
    EXPECT_TRUE(one.over(100));
    EXPECT_FALSE(other.over(100));
    EXPECT_FALSE(all.fits(1, 100));
    one.take(20);
    EXPECT_FALSE(one.over(100));
    EXPECT_TRUE(all.fits(10, 110));
  }
  EXPECT_EQ(all.used(), 70u) << "its share was released with it";
  EXPECT_EQ(one.most(100), 100u);
}

}  // namespace
}  // namespace muster::core
