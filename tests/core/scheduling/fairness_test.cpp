#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

std::vector<session_id> owners(cluster const& c, closures const& ids) {
  std::vector<session_id> out;
  for (auto const id : ids) out.push_back(c.core.closures().find(id)->job);
  return out;
}

TEST(fairness, two_sessions_take_turns) {
  cluster c;
  auto const a = c.open(names(4, "f"));
  auto const b = c.open(names(4, "f"));
  auto const w = c.attach({.slots = 6, .credits = 6});
  EXPECT_EQ(owners(c, c.sent(w)), (std::vector{a.id, b.id, a.id, b.id, a.id, b.id}));
}

TEST(fairness, a_short_session_does_not_wait_for_a_long_one) {
  cluster c;
  auto const w = c.attach();
  auto const big = c.open(names(1'000, "f"));
  auto const small = c.open({"f"});
  c.wait(20ms);
  c.succeed(w, big[0]);
  c.wait(20ms);
  c.succeed(w, c.held(w).at(0));
  EXPECT_EQ(c.job(big.id).counts.succeeded + c.job(small.id).counts.succeeded, 2u);
  EXPECT_EQ(c.state(small[0]) == closure_state::queued, false);
}

TEST(fairness, turns_do_not_depend_on_the_number_of_functions) {
  cluster c;
  auto const a = c.open({"f", "g", "h", "f"});
  auto const b = c.open({"f", "f", "f", "f"});
  auto const w = c.attach({.functions = {"f", "g", "h"}, .slots = 6, .credits = 6});
  EXPECT_EQ(owners(c, c.sent(w)), (std::vector{a.id, b.id, a.id, b.id, a.id, b.id}));
  EXPECT_EQ(closures({c.held(w)[0], c.held(w)[2], c.held(w)[4]}), closures({a[0], a[1], a[2]}));
}

TEST(fairness, workers_take_turns_too) {
  cluster c;
  std::vector<stream_id> w;
  for (int i = 0; i < 3; ++i) w.push_back(c.attach({.slots = 3, .credits = 3}));
  c.open(names(7, "f"));
  std::vector<std::size_t> sizes;
  for (auto const each : w) sizes.push_back(c.held(each).size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 2, 2}));
}

}  // namespace
}  // namespace muster::core
