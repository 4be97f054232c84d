#include "base/text.hpp"

#include <gtest/gtest.h>

#include "server/hub/id_parsing.hpp"

namespace muster::web {
namespace {

using namespace std::chrono_literals;

TEST(text, ids_are_a_prefix_and_sixteen_lower_case_hex_digits) {
  EXPECT_EQ(core::text(core::session_id{1}), "job_0000000000000001");
  EXPECT_EQ(core::text(core::closure_id{0xabcdef0123456789}), "cl_abcdef0123456789");
  EXPECT_EQ(server::value_text(core::closure_id{16}), "rv_0000000000000010");
  EXPECT_EQ(server::parse_job("job_0000000000000001"), core::session_id{1});
  EXPECT_EQ(server::parse_closure("cl_abcdef0123456789"), core::closure_id{0xabcdef0123456789});
  EXPECT_EQ(server::parse_value("rv_0000000000000010"), core::closure_id{16});
}

TEST(text, other_forms_of_an_id_are_refused) {
  for (auto const* bad : {"", "job_", "job_1", "job_000000000000000G", "JOB_0000000000000001",
                          "job_ABCDEF0123456789", "job_00000000000000001", "cl_0000000000000001",
                          "job_000000000000000 ", " job_0000000000000001"})
    EXPECT_FALSE(server::parse_job(bad)) << bad;
}

TEST(text, durations_are_whole_numbers_with_units) {
  EXPECT_EQ(parse_duration("30s"), 30s);
  EXPECT_EQ(parse_duration("250ms"), 250ms);
  EXPECT_EQ(parse_duration("1m30s"), 90s);
  EXPECT_EQ(parse_duration("5us"), 5us);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("1d"), 24h);
  EXPECT_EQ(parse_duration("0"), 0us);
}

TEST(text, invalid_duration_is_refused) {
  for (auto const* bad : {"", "s", "30", "-1s", "1.5s", "30 s", "30sec", "1s ", "1x", "s30",
                          "99999999999999999999s", "9223372036854775807d", "1s1"})
    EXPECT_FALSE(parse_duration(bad)) << bad;
}

TEST(text, base64_survives_a_round_trip) {
  std::string bytes;
  for (int n = 0; n < 70; ++n) {
    EXPECT_EQ(from_base64(base64(bytes)), bytes) << n;
    bytes += static_cast<char>(n * 37);
  }
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(from_base64("Zg"), "f");
  EXPECT_EQ(from_base64("_-8"), "\xff\xef");
  EXPECT_EQ(from_base64("Zg=="), "f");
  for (auto const* bad : {"Z", "Zg=", "Zg=x", "!!!!", "Zg===", "Zg =="})
    EXPECT_FALSE(from_base64(bad)) << bad;
}

TEST(text, percent_escapes_are_decoded_or_refused) {
  EXPECT_EQ(percent_decoded("a%20b+c", false), "a b+c");
  EXPECT_EQ(percent_decoded("a%20b+c", true), "a b c");
  EXPECT_EQ(percent_decoded("%C3%a9", false), "é");
  for (auto const* bad : {"%", "%2", "%zz", "abc%4"})
    EXPECT_FALSE(percent_decoded(bad, false)) << bad;
  EXPECT_EQ(percent_decoded(percent_encoded("a b/ü%"), false), "a b/ü%");
}

TEST(text, number_must_be_the_whole_text) {
  EXPECT_EQ(parse_number("18446744073709551615"), UINT64_MAX);
  for (auto const* bad : {"", "-1", "+1", "1 ", "0x1", "18446744073709551616"})
    EXPECT_FALSE(parse_number(bad)) << bad;
}

}  // namespace
}  // namespace muster::web
