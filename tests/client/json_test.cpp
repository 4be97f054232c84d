#include "muster/json.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "muster/function_error.hpp"

namespace muster {
namespace {

TEST(json, goes_there_and_back) {
  for (char const* text : {"null", "true", "-5", "\"x\"", "[1,[2]]", "{\"a\":{}}"})
    EXPECT_EQ(to_json(from_json({text})), text);
}

TEST(json, nesting_has_a_limit) {
  auto const nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NO_THROW(from_json({nested(json_depth_max)}));
  EXPECT_THROW(from_json({nested(json_depth_max + 1)}), function_error);
}

TEST(json, what_is_no_json_is_refused) {
  for (char const* text : {"", "[", "nul", "1 2", "\xFF"})
    EXPECT_THROW(from_json({text}), function_error) << text;
  EXPECT_THROW(from_json({"1", encoding::bytes}), function_error);
}

}  // namespace
}  // namespace muster
