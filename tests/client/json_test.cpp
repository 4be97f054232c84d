#include "muster/json.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "muster/function_error.hpp"

namespace muster {
namespace {

TEST(json, values_survive_a_round_trip) {
  for (char const* text : {"null", "true", "-5", "\"x\"", "[1,[2]]", "{\"a\":{}}"})
    EXPECT_EQ(to_json(from_json({text})), text);
}

TEST(json, nesting_depth_is_limited) {
  auto const nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NO_THROW(from_json({nested(json_depth_max)}));
  EXPECT_THROW(from_json({nested(json_depth_max + 1)}), function_error);
}

TEST(json, invalid_json_is_refused) {
  for (char const* text : {"", "[", "nul", "1 2", "\xFF"})
    EXPECT_THROW(from_json({text}), function_error) << text;
  EXPECT_THROW(from_json({"1", encoding::bytes}), function_error);
}

}  // namespace
}  // namespace muster
