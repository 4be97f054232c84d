// What a newcomer meets: values of flags and files as they are read, what is said of wrong ones,
// help and progress as they are shown.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/command.hpp"
#include "cli/words/ids.hpp"
#include "cli/words/values.hpp"
#include "tests/support/text.hpp"

namespace muster::cli {
namespace {

// What one reading of it says; empty: nothing is wrong.
std::string complaint(CLI::Validator const& v, std::string text) {
  return v(text);
}

TEST(values, of_numbers_say_from_where_to_where) {
  EXPECT_EQ(complaint(whole_number(1, 1000), "1000"), "");
  for (auto const* wrong : {"0", "1001", "x", "x/0", "1.5", "-1", "", "1 ", "99999999999999999999"})
    EXPECT_EQ(complaint(whole_number(1, 1000), wrong),
              "'" + std::string(wrong) + "': must be a whole number from 1 to 1000");
  EXPECT_EQ(complaint(number_that_fits<std::uint64_t>(1), "0"),
            "'0': must be a whole number, at least 1");
  EXPECT_EQ(complaint(number_that_fits<std::uint64_t>(0), "18446744073709551615"), "");
  EXPECT_EQ(complaint(number_that_fits<std::int64_t>(INT64_MIN), "-5"), "");
  EXPECT_EQ(complaint(number_that_fits<std::int64_t>(INT64_MIN), "x"),
            "'x': must be a whole number");
  EXPECT_EQ(complaint(number_that_fits<std::optional<std::uint8_t>>(0), "256"),
            "'256': must be a whole number from 0 to 255");
}

TEST(values, of_sizes_are_bytes_with_units) {
  for (auto const& [text, bytes] :
       {std::pair("500000", "500000"), std::pair("64KiB", "65536"), std::pair("10mb", "10485760"),
        std::pair("2GiB", "2147483648")}) {
    std::string read = text;
    EXPECT_EQ(byte_size()(read), "");
    EXPECT_EQ(read, bytes);
  }
  for (auto const* wrong : {"1XB", "x", "", "MiB", "99999999999EiB"})
    EXPECT_EQ(
        complaint(byte_size(), wrong),
        "'" + std::string(wrong) + "' is no size; write bytes as 500000, 64KiB, 10MB or 2GiB");
}

TEST(ids, of_another_kind_are_told_what_they_are) {
  EXPECT_EQ(other_id("prog_1", "a job"),
            "'prog_1' is a program: 'muster programs show prog_1' shows it");
  EXPECT_EQ(other_id("ps:12", "a job"),
            "'ps:12' is a task: 'muster tasks' shows it, 'muster stacks ps:12' what it does");
  for (auto const* other : {"hello", ":1", "a:", "a:b", ""})
    EXPECT_EQ(other_id(other, "a job"), "'" + std::string(other) + "' is neither a job");
}

}  // namespace
}  // namespace muster::cli
