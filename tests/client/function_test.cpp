#include "muster/function.hpp"

#include <gtest/gtest.h>

#include <boost/describe.hpp>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "client/wire.hpp"
#include "client/worker/job.hpp"
#include "muster/function_error.hpp"

namespace muster {
namespace {

struct called {
  bool ok = false;
  std::string text;  // the value's bytes or the failure's message
  failure why;
};

called call(raw_function f, std::string_view args, encoding e = encoding::json,
            std::stop_token stop = {}) {
  registered_function const r{"f", std::move(f), false};
  worker_identity me;
  me.index = 3;
  context c(me, 21, 2, stop);
  value result;
  called out;
  out.ok = call_function(r, c, {args, e}, result, out.why);
  out.text = out.ok ? result.bytes : out.why.message;
  return out;
}

int add(int a, int b) {
  return a + b;
}

TEST(function, accepts_functions_lambdas_and_a_context) {
  EXPECT_EQ(call(make_raw(add), "[1,2]").text, "3");
  EXPECT_EQ(call(make_raw([](std::string const& s) { return s + "!"; }), "[\"a\"]").text, "\"a!\"");
  EXPECT_EQ(
      call(make_raw([](context& c, int a) { return static_cast<int>(c.index()) + a; }), "[1]").text,
      "4");
  EXPECT_EQ(call(make_raw([](context& c) { return c.closure() + c.attempt(); }), "[]").text, "23");
  EXPECT_EQ(call(make_raw([] {}), "[]").text, "null");
}

struct described {
  std::string name;
  std::vector<double> features;
  std::optional<int> label;
};
BOOST_DESCRIBE_STRUCT(described, (), (name, features, label))

struct taught {
  int celsius = 0;
};
void tag_invoke(boost::json::value_from_tag, boost::json::value& to, taught const& t) {
  to = std::to_string(t.celsius) + " C";
}
taught tag_invoke(boost::json::value_to_tag<taught>, boost::json::value const& from) {
  if (!from.is_string()) throw std::invalid_argument("a temperature is text");
  return {std::stoi(from.get_string().c_str())};
}

struct unknown {};

static_assert(detail::can_be_made<std::map<std::string, std::vector<described>>>::value);
static_assert(detail::can_be_written<std::tuple<taught, std::optional<described>>>::value);
static_assert(!detail::can_be_made<std::optional<std::vector<unknown>>>::value);
static_assert(!detail::can_be_written<std::pair<int, unknown>>::value);

TEST(function, accepts_and_returns_user_defined_types) {
  auto const half = [](std::vector<described> all) {
    for (auto& d : all)
      for (auto& f : d.features) f /= 2;
    return all;
  };
  EXPECT_EQ(call(make_raw(half), R"([[{"name":"a","features":[1],"label":null}]])").text,
            R"([{"name":"a","features":[5E-1],"label":null}])");
  EXPECT_EQ(call(make_raw(half, {"all"}), R"([[{"name":"a"}]])").text,
            "argument 1 (all)[0]: expected an object with the members name, features, label; "
            "'features' is missing, got an object");
  EXPECT_EQ(call(make_raw(half), R"([[{"name":"a","features":[1,"x"]}]])").text,
            "argument 1[0].features[1]: expected a number, got a string \"x\"");
  EXPECT_EQ(call(make_raw(half), R"([[{"name":"a","features":[],"size":1}]])").text,
            "argument 1[0]: expected an object with the members name, features, label and no other "
            "members, got an object");
  auto const warmer = [](taught t) { return taught{t.celsius + 1}; };
  EXPECT_EQ(call(make_raw(warmer), R"(["20 C"])").text, R"("21 C")");
  EXPECT_EQ(call(make_raw(warmer, {"t"}), "[20]").text,
            "argument 1 (t): got a number 20, which cannot be converted: a temperature is text");
}

TEST(function, errors_of_boost_json_contain_no_source_location) {
  auto const raw = [](boost::json::value v) { return v.as_object().at("size").as_int64(); };
  auto const got = call(make_raw(raw), "[5]");
  EXPECT_FALSE(got.ok);
  EXPECT_EQ(got.why.message, "not an object");
}

TEST(function, accepts_and_returns_structures) {
  auto const reversed = [](std::vector<double> v) {
    return std::map<std::string, std::vector<double>>{{"out", {v.rbegin(), v.rend()}}};
  };
  EXPECT_EQ(call(make_raw(reversed), "[[1,2.5]]").text, R"({"out":[2.5E0,1E0]})");
  auto const raw_json = [](boost::json::value v) { return v; };
  EXPECT_EQ(call(make_raw(raw_json), R"([{"a":[null,true]}])").text, R"({"a":[null,true]})");
}

TEST(function, accepts_optional_and_keyword_arguments) {
  auto const f = make_raw(
      [](std::string a, std::optional<int> b, std::optional<int> c) {
        return a + std::to_string(b.value_or(0)) + std::to_string(c.value_or(0));
      },
      {"a", "b", "c"});
  EXPECT_EQ(call(f, R"(["x"])").text, R"("x00")");
  EXPECT_EQ(call(f, R"(["x",null,2])").text, R"("x02")");
  EXPECT_EQ(call(f, R"({"args":["x"],"kwargs":{"c":5}})").text, R"("x05")");
  EXPECT_EQ(call(f, R"({"kwargs":{"b":1,"a":"y"}})").text, R"("y10")");
}

struct input_case {
  char const* args;
  char const* says;
};

TEST(function, argument_errors_name_position_and_type) {
  auto const f = make_raw([](int, std::string, std::optional<bool>) { return 0; }, {"i", "s", "b"});
  input_case const cases[] = {
      {R"(["1","a"])", "argument 1 (i): expected an integer in range, got a string \"1\""},
      {R"([1.5,"a"])", "argument 1 (i): expected an integer in range, got a number 1.5"},
      {R"([9999999999,"a"])",
       "argument 1 (i): expected an integer in range, got a number 9999999999"},
      {R"([1,[]])", "argument 2 (s): expected a string, got an array"},
      {R"([1,"a",3])", "argument 3 (b): expected a boolean, got a number 3"},
      {R"([1])", "argument 2 (s) of 3 is missing"},
      {R"([1,"a",true,4])", "takes at most 3 arguments, 4 were given"},
      {R"({"args":[1],"kwargs":{"x":2}})", "takes no argument named 'x'"},
      {R"({"args":[1],"kwargs":{"i":2}})", "argument 'i' is given twice"},
      {R"("a")", "arguments must be an array, or an object with args and kwargs"},
      {R"({"argv":[1]})",
       "arguments given as an object must have \"args\", an array, and \"kwargs\", an object"},
  };
  for (auto const& c : cases) {
    auto const got = call(f, c.args);
    EXPECT_FALSE(got.ok) << c.args;
    EXPECT_EQ(got.why.kind, failure_kind::input) << c.args;
    EXPECT_EQ(got.text, c.says);
  }
  EXPECT_EQ(call(f, "[1,").why.kind, failure_kind::input);
  EXPECT_EQ(call(f, "[1]", encoding::bytes).why.kind, failure_kind::input);
}

TEST(function, unsigned_parameters_refuse_negative_numbers) {
  auto const f = make_raw([](unsigned u) { return u; });
  EXPECT_EQ(call(f, "[4000000000]").text, "4000000000");
  EXPECT_EQ(call(f, "[-1]").why.kind, failure_kind::input);
}

struct strange {};

TEST(function, exceptions_become_user_failures_with_their_type) {
  auto const got = call(make_raw([]() -> int { throw std::out_of_range("too far"); }), "[]");
  EXPECT_EQ(got.why.kind, failure_kind::user);
  EXPECT_EQ(got.why.type, "std::out_of_range");
  EXPECT_EQ(got.text, "too far");
  EXPECT_EQ(call(make_raw([]() -> int { throw strange{}; }), "[]").why.type,
            "muster::(anonymous namespace)::strange");
}

TEST(function, function_error_sets_everything) {
  auto const f = make_raw([] {
    throw function_error(failure_kind::dependency_lost, "no GPU", "device_error", "frame 1");
  });
  auto const got = call(f, "[]");
  EXPECT_EQ(got.why.kind, failure_kind::dependency_lost);
  EXPECT_EQ(got.why.type, "device_error");
  EXPECT_EQ(got.why.traceback, "frame 1");
}

TEST(function, exception_of_a_stopped_function_counts_as_cancelled) {
  std::stop_source stop;
  stop.request_stop();
  auto const f = make_raw([](context& c) {
    if (c.cancelled()) throw std::runtime_error("interrupted");
  });
  EXPECT_EQ(call(f, "[]", encoding::json, stop.get_token()).why.kind, failure_kind::cancelled);
}

TEST(function, numbers_that_json_cannot_represent_are_a_failure) {
  auto const nan = [] {
    return std::map<std::string, std::vector<double>>{
        {"a", {1, std::numeric_limits<double>::quiet_NaN()}}};
  };
  auto const got = call(make_raw(nan), "[]");
  EXPECT_EQ(got.why.kind, failure_kind::user);
  EXPECT_EQ(got.text, "the result cannot be represented as JSON: $.a[1]: NaN");
  auto const broken = call(make_raw([] { return std::string("\xFF"); }), "[]");
  EXPECT_EQ(broken.text, "the result cannot be represented as JSON: $: a string that is not UTF-8");
}

TEST(function, too_large_result_fails_and_names_the_limit) {
  raw_function const f = [](context&, value_view, value& out) {
    out.encoding = encoding::bytes;
    out.bytes.resize(result_bytes_max + 1);
  };
  auto const got = call(f, "[]");
  EXPECT_FALSE(got.ok);
  EXPECT_EQ(got.text, "the result has 33554433 bytes, the limit is 33554432");
}

TEST(function, bytes_are_passed_unchanged) {
  raw_function const f = [](context&, value_view args, value& out) {
    out = {std::string(args.bytes) + '\0', encoding::bytes};
  };
  EXPECT_EQ(call(f, "\xFF", encoding::bytes).text, std::string("\xFF\0", 2));
}

TEST(function, lost_dependency_is_named) {
  auto const lost = [] { throw dependency_lost({"ps:1", "ps:2"}, "no answer"); };
  failure f;
  try {
    lost();
  } catch (...) {
    f = failure_of_current_exception();
  }
  EXPECT_EQ(f.kind, failure_kind::dependency_lost);
  EXPECT_EQ(f.message, "no answer");
  EXPECT_EQ(f.dependencies, (std::vector<std::string>{"ps:1", "ps:2"}));
  v1::Failure wire;
  to_wire(f, wire);
  EXPECT_EQ(from_wire(wire).dependencies, f.dependencies);
}

}  // namespace
}  // namespace muster
