// Names that history displays keep their numbers when the core reuses them.
#include "server/history/names.hpp"

#include <gtest/gtest.h>

namespace muster::history {
namespace {

function_named function(std::uint32_t n, std::string name) {
  return {function_id{n}, true, false, function_id{n}, std::move(name), {}};
}
function_named callable(std::uint32_t n, std::uint32_t served, std::string name) {
  return {function_id{n}, true, true, function_id{served}, std::move(name), {}};
}
changes told(std::vector<function_named> all) {
  changes c;
  c.functions = std::move(all);
  return c;
}

struct names_test : testing::Test {
  config limits;
  time_point now{std::chrono::hours(1)};
  int looks = 0;
  std::vector<function_id> shown;
  names of{limits, [this](auto const& use) {
             ++looks;
             for (auto const n : shown) use(n);
           }};

  void fold(changes const& c) { of.fold(c, now); }
};

TEST_F(names_test, reused_number_does_not_change_earlier_names) {
  fold(told({function(0, "python:3.11"), callable(1, 0, "train.step")}));
  auto const before = of.of(function_id{1});
  fold(told({{function_id{1}, false, true, function_id{0}, {}, {}}, callable(1, 0, "eval")}));
  EXPECT_EQ(of[before].name, "train.step");
  EXPECT_EQ(of[before].served, "python:3.11");
  EXPECT_EQ(of[of.of(function_id{1})].name, "eval");
}

TEST_F(names_test, returning_name_gets_its_old_number) {
  fold(told({function(0, "python:3.11"), callable(1, 0, "train.step")}));
  auto const before = of.of(function_id{1});
  fold(told({{function_id{1}, false, true, function_id{0}, {}, {}}}));
  fold(told({callable(2, 0, "train.step")}));
  EXPECT_EQ(of.of(function_id{2}), before);
}

TEST_F(names_test, full_table_evicts_unused_names_and_then_shows_the_function) {
  limits.functions_max = 1;
  limits.callables_max = 1;  // three names in total
  fold(told({function(0, "f"), callable(1, 0, "a")}));
  shown = {of.of(function_id{1})};
  auto const next = [&](std::string name) {
    fold(told({{function_id{1}, false, true, function_id{0}, {}, {}}, callable(1, 0, name)}));
    return of.of(function_id{1});
  };
  auto const b = next("b");
  now += std::chrono::seconds(10);
  auto const c = next("c");  // b is no longer displayed
  EXPECT_EQ(of[c].name, "c");
  EXPECT_EQ(b, c) << "its number is reused";
  shown.push_back(c);
  now += std::chrono::seconds(10);
  EXPECT_EQ(of[next("d")].name, "f");
  EXPECT_EQ(of[shown[0]].name, "a");
  EXPECT_EQ(of.size(), 3u);
}

TEST_F(names_test, full_table_accepts_a_callable_of_an_unknown_function) {
  limits.functions_max = 1;
  limits.callables_max = 1;
  fold(told({function(0, "f"), callable(1, 0, "a"), callable(2, 0, "b")}));
  shown = {of.of(function_id{1}), of.of(function_id{2})};
  auto const n = of.of(names::function{"c", "served before", "hash", true}, now);
  EXPECT_EQ(of[n].name, "served before");
}

TEST_F(names_test, names_in_use_are_not_scanned_for_every_new_name) {
  limits.functions_max = 1;
  limits.callables_max = 1;
  fold(told({function(0, "f"), callable(1, 0, "a"), callable(2, 0, "b")}));
  shown = {of.of(function_id{1}), of.of(function_id{2})};
  for (std::uint32_t n = 3; n < 100; ++n) fold(told({callable(n, 0, std::to_string(n))}));
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(of[of.of(function_id{99})].name, "f");
}

}  // namespace
}  // namespace muster::history
