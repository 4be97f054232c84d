#include "server/core/closures/function_table.hpp"

#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(function_table, a_name_keeps_its_number) {
  cluster c;
  auto const a = c.learn("a").value();
  auto const b = c.learn("b").value();
  EXPECT_NE(a, b);
  EXPECT_EQ(c.learn("a").value(), a);
  EXPECT_EQ(c.core.functions().name(a), "a");
  EXPECT_EQ(c.core.functions().name(b), "b");
}

TEST(function_table, names_stay_in_place_while_the_table_grows) {
  cluster c;
  auto const first = c.core.functions().name(c.function("first"));
  for (int i = 0; i < 5'000; ++i) c.function("f" + std::to_string(i));
  EXPECT_EQ(c.core.functions().name(c.function("first")).data(), first.data());
}

TEST(function_table, empty_names_and_control_characters_are_rejected) {
  cluster c;
  EXPECT_EQ(c.learn("").error(), (status{code::invalid_argument, "the function name is empty"}));
  for (std::string const bad : {"a\nb", "\t", "\x7f", "a\x1f"})
    EXPECT_EQ(c.learn(bad).error(),
              (status{code::invalid_argument, "the function name contains a control character"}));
  EXPECT_TRUE(c.learn(" "));
  EXPECT_TRUE(c.learn("gr\xc3\xbc\xc3\x9f"));
}

TEST(function_table, name_one_byte_too_long_is_refused_with_the_limit) {
  config small;
  small.function_name_bytes_max = 3;
  cluster c(small);
  EXPECT_TRUE(c.learn("abc"));
  EXPECT_EQ(c.learn("abcd").error(),
            (status{code::invalid_argument, "the function name has 4 bytes; the limit is 3"}));
}

TEST(function_table, full_table_finds_known_names_and_rejects_new_ones) {
  config small;
  small.functions_max = 2;
  cluster c(small);
  auto const a = c.function("a");
  c.function("b");
  EXPECT_EQ(c.learn("c").error(),
            (status{code::resource_exhausted,
                    "the server already knows 2 function names, which is the limit"}));
  EXPECT_EQ(c.learn("a").value(), a);
}

}  // namespace
}  // namespace muster::core
