#include <gtest/gtest.h>

#include <sstream>

#include "app/configuration.hpp"
#include "cli/durations.hpp"
#include "cli/job_submission.hpp"
#include "cli/neutral_text.hpp"
#include "cli/progress.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;

TEST(durations, are_read_with_their_units) {
  EXPECT_EQ(parse_duration("30s"), duration(30s));
  EXPECT_EQ(parse_duration("250ms"), duration(250ms));
  EXPECT_EQ(parse_duration("1m30s"), duration(90s));
  EXPECT_EQ(parse_duration("1.5h"), duration(90min));
  EXPECT_EQ(parse_duration("7us"), duration(7us));
  EXPECT_EQ(parse_duration("0"), duration(0));
  for (auto const* wrong :
       {"", "s", "10", "-1s", "1 s", "1x", "1s2", "1e9s", "99999999999d", "nan", "nans", "infs"})
    EXPECT_EQ(parse_duration(wrong), std::nullopt) << wrong;
}

TEST(durations, are_printed_in_the_form_that_is_read) {
  for (auto const* text : {"30s", "250ms", "1m30s", "1h", "1d2h", "7us"})
    EXPECT_EQ(to_string(*parse_duration(text)), text);
  EXPECT_EQ(to_string(duration(0)), "0s");
  EXPECT_EQ(rounded(duration(420ms)), "0.4 s");
  EXPECT_EQ(rounded(duration(12s)), "12 s");
  EXPECT_EQ(rounded(duration(3min)), "3 min");
}

TEST(table, aligns_columns_by_characters_not_bytes) {
  table t({{"NAME"}, {"N", true}});
  t.add({"é", "7"});
  t.add({"plain", "1,234"});
  std::ostringstream out;
  t.print(out);
  EXPECT_EQ(out.str(), "NAME       N\né          7\nplain  1,234\n");
}

struct endless_text : std::streambuf {
  int_type underflow() override {
    setg(piece.data(), piece.data(), piece.data() + piece.size());
    return traits_type::to_int_type('x');
  }
  std::string piece = std::string(1 << 20, 'x');
};

TEST(submit, length_of_a_map_line_is_limited) {
  std::istringstream two("[1]\n\n[2]");
  std::string line;
  EXPECT_TRUE(read_line(two, line, "f", 1));
  EXPECT_EQ(line, "[1]");
  EXPECT_TRUE(read_line(two, line, "f", 2));
  EXPECT_EQ(line, "");
  EXPECT_TRUE(read_line(two, line, "f", 3));
  EXPECT_EQ(line, "[2]");
  EXPECT_FALSE(read_line(two, line, "f", 4));
  endless_text text;
  std::istream endless(&text);
  try {
    read_line(endless, line, "f", 7);
    ADD_FAILURE();
  } catch (command_error const& e) {
    EXPECT_STREQ(e.what(), "f:7: the line is longer than 64 MiB");
  }
}

TEST(configuration, connection_limit_of_zero_is_refused_by_name) {
  server::configuration c;
  ASSERT_EQ(server::problem_with(c), "");
  c.web.connections_max = 0;
  EXPECT_EQ(server::problem_with(c), "--connections-max must be at least 1");
  c = {};
  c.core.closures_max = 0;
  EXPECT_EQ(server::problem_with(c), "--closures-max must be at least 1");
  c = {};
  c.core.heartbeat_timeout = {};
  EXPECT_EQ(server::problem_with(c), "--heartbeat-timeout must be more than 0s");
}

TEST(neutral_buffer, control_characters_split_over_writes_are_replaced) {
  std::stringbuf to;
  neutral_buffer buffer(to);
  std::ostream out(&buffer);
  for (char const c : std::string("\xE2\x80\xAE é \x1b[m\n")) out.put(c);
  out << "\xC2"
      << "\x9B"
      << "€" << std::flush;
  EXPECT_EQ(to.str(), "\\u202e é  [m\n\\u009b€");
}

TEST(table, foreign_text_cannot_control_the_terminal) {
  EXPECT_EQ(for_terminal("a\x1b[31mb\nc"), "a [31mb c");
  EXPECT_EQ(for_terminal("a\xC2\x9B"
                         "31m\x7F\xE2\x80\xAE"
                         "b\xE2\x81\xA6\xE2\x80\x8F\xD8\x9C"),
            "a\\u009b31m\\u007f\\u202eb\\u2066\\u200f\\u061c");
  EXPECT_EQ(for_terminal("a\x9B\xFF"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(for_terminal("é€😀"), "é€😀");
  EXPECT_EQ(neutral_text("a\n\tb\rc", text_layout::lines), "a\n\tb c");
  table t({{"NAME"}, {"N"}});
  t.add({"\xC2\x9Bm", "1"});
  std::ostringstream out;
  t.print(out);
  EXPECT_EQ(out.str(), "NAME     N\n\\u009bm  1\n");
  EXPECT_EQ(for_terminal("ééééé", 3), "éé…");
  EXPECT_EQ(for_terminal("abc", 3), "abc");
  EXPECT_EQ(with_thousands(1'234'567), "1,234,567");
  EXPECT_EQ(with_thousands(999), "999");
}

TEST(progress, shows_counts_rate_and_time_left) {
  progress_text text;
  auto const start = progress_text::time_point(1h);
  EXPECT_EQ(text.line({.waiting = 100}, start), "0/100  100 waiting");
  EXPECT_EQ(text.line({.waiting = 40, .running = 10, .succeeded = 50}, start + 1s),
            "50/100  10 running  40 waiting  50/s  1.0 s left");
  EXPECT_EQ(text.bar({.succeeded = 100}, start + 2s),
            "[############################] 100/100  50/s  0.0 s left");
}

TEST(progress, empty_job_shows_zero_of_zero) {
  progress_text text;
  EXPECT_EQ(text.bar({}, progress_text::time_point(1h)), "[............................] 0/0");
}

TEST(submission, argument_is_json_or_text) {
  EXPECT_EQ(argument("42"), json::value(42));
  EXPECT_EQ(argument("[1]"), json::value(json::array{1}));
  EXPECT_EQ(argument("plain words"), json::value("plain words"));
  EXPECT_EQ(argument(""), json::value(""));
}

TEST(endpoint, is_an_address_and_a_port) {
  using server::endpoint;
  using server::parse_endpoint;
  EXPECT_EQ(*parse_endpoint("127.0.0.1:8476"), (endpoint{"127.0.0.1", 8476}));
  EXPECT_EQ(*parse_endpoint("localhost:0"), (endpoint{"127.0.0.1", 0}));
  EXPECT_EQ(*parse_endpoint("[::1]:80"), (endpoint{"::1", 80}));
  EXPECT_EQ(*parse_endpoint(":80"), (endpoint{"0.0.0.0", 80}));
  EXPECT_EQ(to_string(endpoint{"::1", 80}), "[::1]:80");
  for (auto const* wrong : {"", "8476", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "::1:80",
                            "[127.0.0.1]:80", "127.0.0.1:65536", "a b:1"})
    EXPECT_FALSE(parse_endpoint(wrong)) << wrong;
  EXPECT_TRUE((endpoint{"127.8.9.1", 1}).is_loopback());
  EXPECT_TRUE((endpoint{"::1", 1}).is_loopback());
  EXPECT_FALSE((endpoint{"0.0.0.0", 1}).is_loopback());
  EXPECT_FALSE((endpoint{"::", 1}).is_loopback());
}

TEST(texts_of_json_values, numbers_are_plain_decimals) {
  auto const answer = json::parse(R"({"each": 50.125, "half": 0.5, "count": 7, "word": "x"})");
  EXPECT_EQ(text_of(answer, "each"), "50.125");
  EXPECT_EQ(text_of(answer, "half"), "0.5");
  EXPECT_EQ(text_of(answer, "count"), "7");
  EXPECT_EQ(text_of(answer, "word"), "x");
  EXPECT_EQ(text_of(answer, "none"), "");
}

}  // namespace
}  // namespace muster::cli
