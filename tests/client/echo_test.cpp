#include <gtest/gtest.h>

#include "client/functions/bundled_functions.hpp"
#include "muster/function_error.hpp"

namespace muster {
namespace {

value echoed(std::string_view args, encoding e = encoding::json) {
  worker_identity const me;
  context c(me, 1, 1, {});
  value result;
  echo(c, {args, e}, result);
  return result;
}

TEST(echo, returns_one_argument_unchanged) {
  for (char const* text : {"1", "1e2", "0.10", "null", "\"a,b]\"", "[1,2]", "{\"a\":[1,\"},\"]}",
                           "\"\\\",\\\"\"", "\"ä\""})
    EXPECT_EQ(echoed("[" + std::string(text) + "]").bytes, text);
  EXPECT_EQ(echoed(" [ 7 ] ").bytes, "7");
}

TEST(echo, returns_several_arguments_as_a_list) {
  EXPECT_EQ(echoed("[1,2]").bytes, "[1,2]");
  EXPECT_EQ(echoed("[]").bytes, "[]");
  EXPECT_EQ(echoed("[\"a\",[1,2]]").bytes, "[\"a\",[1,2]]");
}

TEST(echo, accepts_the_object_form) {
  EXPECT_EQ(echoed(R"({"args":[5],"kwargs":{}})").bytes, "5");
  EXPECT_EQ(echoed(R"({"args":[5,6]})").bytes, "[5,6]");
  EXPECT_THROW(echoed(R"({"args":[],"kwargs":{"x":1}})"), function_error);
}

TEST(echo, returns_bytes_unchanged) {
  auto const result = echoed(std::string_view("\0\xFF", 2), encoding::bytes);
  EXPECT_EQ(result.encoding, encoding::bytes);
  EXPECT_EQ(result.bytes, std::string("\0\xFF", 2));
}

}  // namespace
}  // namespace muster
