#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "web/json/json_in.hpp"
#include "web/json/json_out.hpp"
#include "web/json/views_json.hpp"

namespace muster::web {
namespace {

TEST(json_out, nested_values_are_written_as_valid_json) {
  std::string text;
  json_out out(text);
  out.begin_object();
  out.key("a").begin_array().number(1).string("x").boolean(true).null().end_array();
  out.key("b").begin_object().end_object();
  out.key("c").number(-5).key("d").number(0.125).key("e").raw("[1,\n2]");
  out.end_object();
  EXPECT_EQ(text, R"({"a":[1,"x",true,null],"b":{},"c":-5,"d":0.125,"e":[1, 2]})");
}

TEST(views_json, closure_shows_the_name_of_its_callable_if_known) {
  core::closure_view c;
  c.function = "python:3.11";
  auto const written = [&c] {
    std::string text;
    json_out out(text);
    write(out, c, nullptr);
    return boost::json::parse(text).as_object();
  };
  EXPECT_FALSE(written().contains("display_name"));
  EXPECT_FALSE(written().contains("callable"));
  c.display_name = "train.step";
  c.callable = std::string(core::callable_hash_bytes, '\xf1');
  EXPECT_EQ(written().at("function").as_string(), "python:3.11");
  EXPECT_EQ(written().at("display_name").as_string(), "train.step");
  EXPECT_EQ(std::string(written().at("callable").as_string()).substr(0, 4), "f1f1");
}

TEST(json_out, control_characters_are_escaped) {
  std::string const bytes("a\"\\\n\t\x01\x7f\x00z", 9);
  std::string text;
  append_json_string(text, bytes);
  EXPECT_EQ(boost::json::parse(text).as_string(), bytes);
}

TEST(json_out, invalid_utf8_becomes_the_replacement_character) {
  for (auto const* bad : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82",
                          "\x80", "\xf0\x80\x80\x80"}) {
    std::string text;
    append_json_string(text, bad);
    boost::system::error_code ec;
    auto const v = boost::json::parse(text, ec);
    ASSERT_FALSE(ec) << text;
    EXPECT_NE(v.as_string().find("\xEF\xBF\xBD"), boost::json::string::npos);
  }
  std::string text;
  append_json_string(text, "é€😀");
  EXPECT_EQ(text, "\"é€😀\"");
}

TEST(json_out, nan_and_infinity_become_zero) {
  std::string text;
  json_out out(text);
  out.begin_array().number(1.0 / 3).number(std::numeric_limits<double>::quiet_NaN());
  out.number(std::numeric_limits<double>::infinity()).number(UINT64_MAX).end_array();
  EXPECT_EQ(text, "[0.333,0,0,18446744073709551615]");
}

TEST(json_in, malformed_text_is_refused_with_its_position) {
  auto const p = check_json("{\"a\": 1,\n \"b\" 2}");
  ASSERT_TRUE(p);
  EXPECT_EQ(p->status, 400u);
  EXPECT_NE(p->detail.find("line 2, column 6"), std::string::npos) << p->detail;
}

TEST(json_in, exactly_one_value_is_accepted) {
  for (auto const* good : {"1", " {} \n", "[]", "\"x\"", "null", "-1.5e3"})
    EXPECT_FALSE(check_json(good)) << good;
  for (auto const* bad : {"", "  ", "{", "1 2", "{}x", "nul", "[1,]", "{\"a\":}", "'x'", "01",
                          "\"\xff\"", "\"\n\"", "// c\n1", "NaN", "{\"a\" \"b\"}"})
    EXPECT_TRUE(check_json(bad)) << bad;
}

TEST(json_in, repeated_member_is_refused_by_name) {
  for (auto const* bad :
       {R"({"open":true,"open":false})", R"([1,{"a":{"x":1,"open":2,"\u006fpen":3}}])",
        R"({"a":[],"open":{"open":{}},"b":1,"open":2})"}) {
    auto const p = check_json(bad);
    ASSERT_TRUE(p) << bad;
    EXPECT_EQ(p->status, 400u);
    EXPECT_EQ(p->field, "open");
    EXPECT_NE(p->detail.find("repeated"), std::string::npos) << p->detail;
    EXPECT_TRUE(is_json(bad)) << "a worker's value is left as it is";
  }
  for (auto const* good :
       {R"({"a":{"a":1},"b":{"a":1}})", R"([{"a":1},{"a":2}])", R"({"a":["a"]})"})
    EXPECT_FALSE(check_json(good)) << good;
}

TEST(json_in, repeated_member_is_found_among_many) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += "\"k" + std::to_string(i) + "\":1,";
  EXPECT_FALSE(check_json(text + "\"last\":2}"));
  auto const p = check_json(text + "\"k77\":2}");
  ASSERT_TRUE(p);
  EXPECT_EQ(p->field, "k77");
}

TEST(json_in, number_outside_the_range_of_a_double_is_refused) {
  for (auto const* bad : {"[1,\n 1e999]", "[1,\n -1e999]"}) {
    auto const p = check_json(bad);
    ASSERT_TRUE(p) << bad;
    EXPECT_EQ(p->status, 400u);
    EXPECT_NE(p->detail.find("at line 2, column"), std::string::npos) << p->detail;
    EXPECT_NE(p->detail.find("outside the range of a double"), std::string::npos) << p->detail;
  }
  EXPECT_TRUE(check_json(std::string(400, '9')));
  EXPECT_FALSE(check_json("1e308"));
  EXPECT_FALSE(check_json("1e-999"));
  EXPECT_TRUE(is_json("1e999"));
}

TEST(json_in, depth_is_limited) {
  EXPECT_FALSE(check_json(std::string(60, '[') + std::string(60, ']')));
  auto const p = check_json(std::string(100'000, '['));
  ASSERT_TRUE(p);
  EXPECT_EQ(p->limit, "64 levels");
}

TEST(json_in, walk_returns_members_as_written) {
  json_ref const root(R"( {"a" : [1, {"b":"x]\"}"} , 2.50] ,"\u0063":12345678901234567890123} )");
  json_walk m(root);
  ASSERT_TRUE(m.next());
  EXPECT_EQ(m.key(), "a");
  EXPECT_EQ(m.value().type(), json_type::array);
  json_walk list(m.value());
  ASSERT_TRUE(list.next());
  EXPECT_EQ(list.value().integer(), 1);
  EXPECT_EQ(list.value().path(), "a[0]");
  ASSERT_TRUE(list.next());
  json_walk inner(list.value());
  ASSERT_TRUE(inner.next());
  EXPECT_EQ(inner.value().string(), "x]\"}");
  EXPECT_EQ(inner.value().path(), "a[1].b");
  EXPECT_FALSE(inner.next());
  ASSERT_TRUE(list.next());
  EXPECT_EQ(list.value().text(), "2.50");
  EXPECT_FALSE(list.value().integer());
  EXPECT_FALSE(list.next());
  ASSERT_TRUE(m.next());
  EXPECT_EQ(m.key(), "c");
  EXPECT_EQ(m.value().text(), "12345678901234567890123");
  EXPECT_FALSE(m.value().integer());
  EXPECT_FALSE(m.next());
}

TEST(json_in, whole_numbers_may_be_written_with_a_point_or_an_exponent) {
  auto const number = [](std::string_view text) { return json_ref(text).integer(); };
  for (auto const text : {"2", "2.0", "2.00", "2e0", "20e-1", "0.2E1"}) EXPECT_EQ(number(text), 2);
  EXPECT_EQ(number("-3.0"), -3);
  EXPECT_EQ(number("9007199254740992.0"), 9'007'199'254'740'992);
  EXPECT_EQ(number("9223372036854775807"), INT64_MAX);
  for (auto const text : {"2.5", "1e-3", "9007199254740994.0", "1e300", "1e999",
                          "9223372036854775808", "12345678901234567890123"})
    EXPECT_FALSE(number(text)) << text;
}

TEST(json_in, empty_containers_have_no_members) {
  for (auto const* empty : {"{}", "[]", "{ }", "[\n]"}) {
    json_ref const root(empty);
    EXPECT_FALSE(json_walk(root).next()) << empty;
  }
}

// Walking a parsed document gives the same tree as the parser.
boost::json::value rebuilt(json_ref const& at) {
  if (at.type() == json_type::array) {
    boost::json::array a;
    for (json_walk m(at); m.next();) a.push_back(rebuilt(m.value()));
    return a;
  }
  if (at.type() == json_type::object) {
    boost::json::object o;
    for (json_walk m(at); m.next();) o[m.key()] = rebuilt(m.value());
    return o;
  }
  return boost::json::parse(at.text());
}

TEST(json_in, walk_over_random_json_agrees_with_the_parser) {
  std::uint64_t seed = 1;
  auto const next = [&] { return seed = seed * 6364136223846793005u + 1442695040888963407u; };
  static char const* const pieces[] = {"{",     "}",          "[",           "]",    ",", ":",
                                       "\"a\"", "\"]}\\\"\"", "1",           "-2.5", " ", "true",
                                       "null",  "\n",         "\"\\u0041\"", "\"\""};
  int accepted = 0;
  for (int round = 0; round < 300'000; ++round) {
    std::string text = round % 2 ? "[" : "{";
    for (auto n = next() >> 60; n-- > 0;) text += pieces[next() >> 60];
    text += round % 2 ? "]" : "}";
    if (check_json(text)) continue;
    ++accepted;
    EXPECT_EQ(rebuilt(json_ref(text)), boost::json::parse(text)) << text;
  }
  EXPECT_GT(accepted, 1000);
}

TEST(json_check, reports_the_first_failure_with_the_expected_type) {
  json_ref const root(R"({"s":1,"n":"x","b":[],"i":1.5})");
  json_check check;
  for (json_walk m(root); m.next();) {
    if (m.key() == "s") {
      EXPECT_EQ(check.text(m.value(), 10), "");
    }
    if (m.key() == "n") check.integer(m.value(), 0, 10);
  }
  ASSERT_TRUE(check.failed());
  EXPECT_EQ(check.failure().detail, "s: expected a string, got number");
  EXPECT_EQ(check.failure().field, "s");
}

TEST(json_check, limits_are_named) {
  json_ref const root(R"(["abcdef",11])");
  json_walk m(root);
  m.next();
  json_check a;
  a.text(m.value(), 3);
  ASSERT_TRUE(a.failed());
  EXPECT_EQ(a.failure().limit, "3 bytes");
  m.next();
  json_check b;
  b.integer(m.value(), 0, 10);
  ASSERT_TRUE(b.failed());
  EXPECT_EQ(b.failure().detail, "[1]: expected a whole number from 0 to 10");
}

}  // namespace
}  // namespace muster::web
