#include "client/worker/per_worker_store.hpp"

#include <gtest/gtest.h>

#include "client/worker/job.hpp"
#include "muster/function.hpp"
#include "muster/function_error.hpp"

namespace muster {
namespace {

kept_value json_value(std::string text) {
  kept_value v;
  v.data.bytes = std::move(text);
  return v;
}
constexpr std::string_view five = R"({"$per_worker":"pw_0000000000000005"})";

std::string input_error(per_worker_store const& s, std::string_view args,
                        std::vector<std::uint64_t> const& uses) {
  try {
    s.resolve({args}, uses);
  } catch (function_error const& e) {
    EXPECT_EQ(e.kind(), failure_kind::input);
    return e.what();
  }
  return "no error";
}

TEST(per_worker_store, values_replace_their_references_in_arguments) {
  per_worker_store s;
  s.keep(5, json_value(R"({"a":[1]})"));
  auto const args = "[1," + std::string(five) + R"(,{"deep":[)" + std::string(five) + "]}]";
  EXPECT_EQ(s.resolve({args}, {5}).bytes, R"([1,{"a":[1]},{"deep":[{"a":[1]}]}])");
}

TEST(per_worker_store, missing_failed_and_binary_values_are_named) {
  per_worker_store s;
  auto const args = "[" + std::string(five) + "]";
  EXPECT_EQ(input_error(s, args, {5}),
            "per-worker value pw_0000000000000005 is not on this worker");
  kept_value broken;
  broken.error = failure{failure_kind::user, "E", "no data", {}, {}, 0};
  s.keep(5, broken);
  EXPECT_EQ(input_error(s, args, {5}),
            "per-worker value pw_0000000000000005 could not be built here: no data");
  kept_value bytes;
  bytes.data = {"abc", encoding::bytes};
  s.keep(5, bytes);
  EXPECT_EQ(input_error(s, args, {5}),
            "per-worker value pw_0000000000000005 is raw bytes, which cannot be part of JSON "
            "arguments");
}

TEST(per_worker_store, lists_its_values_and_drops_them_on_request) {
  per_worker_store s;
  s.keep(5, json_value("1"));
  kept_value broken;
  broken.error = failure{};
  s.keep(6, broken);
  EXPECT_EQ(s.handles(), std::vector<std::uint64_t>{5}) << "errors are built again";
  s.drop(5);
  s.drop(77);
  EXPECT_FALSE(s.find(5));
}

struct counter {
  int next = 0;
};

struct ran {
  bool ok = false;
  std::string text;
};
ran run(raw_function f, per_worker_store& s, std::string args, std::uint64_t builds,
        std::vector<std::uint64_t> uses, bool typed = false) {
  registered_function const registered{"f", std::move(f), false, typed};
  job j;
  j.function = &registered;
  j.args.bytes = std::move(args);
  j.kept = &s;
  j.builds = builds;
  j.uses = std::move(uses);
  j.workers = 4;
  worker_identity const me;
  context c(me, 1, 1, {});
  run_job(j, c);
  return {j.ok, j.ok ? j.result.bytes : j.why.message};
}

TEST(per_worker_objects, are_built_once_and_passed_to_functions_that_name_them) {
  per_worker_store s;
  auto const build = make_raw([](int from) { return std::make_shared<counter>(counter{from}); });
  EXPECT_EQ(run(build, s, "[7]", 5, {}).text, "null") << "the object stays here";
  auto const step = make_raw([](std::shared_ptr<counter> c, int by) {
    c->next += by;
    return c->next;
  });
  auto const args = "[" + std::string(five) + ",2]";
  EXPECT_EQ(run(step, s, args, 0, {5}).text, "9");
  EXPECT_EQ(run(step, s, args, 0, {5}).text, "11");
}

TEST(per_worker_objects, wrong_type_is_an_input_error) {
  per_worker_store s;
  auto const build = make_raw([] { return std::make_shared<counter>(); });
  EXPECT_EQ(run(build, s, "[]", 0, {}).text,
            "the function returns an object, which cannot be sent; it can only build a "
            "per-worker value");
  ASSERT_TRUE(run(build, s, "[]", 5, {}).ok);
  auto const args = "[" + std::string(five) + "]";
  auto const wrong = make_raw([](std::shared_ptr<std::string>) { return 1; });
  EXPECT_EQ(run(wrong, s, args, 0, {5}).text,
            "argument 1: {\"$per_worker\":\"pw_0000000000000005\"} is a value of another type");
  auto const right = make_raw([](std::shared_ptr<counter>) { return 1; });
  EXPECT_EQ(run(right, s, "[3]", 0, {5}).text,
            "argument 1: expected a per-worker value, {\"$per_worker\":\"pw_…\"}, got a number 3");
}

TEST(per_worker_objects, can_be_nested_in_structures) {
  per_worker_store s;
  auto const build = make_raw([](int from) { return std::make_shared<counter>(counter{from}); });
  ASSERT_TRUE(run(build, s, "[7]", 5, {}).ok);
  using shared = std::shared_ptr<counter>;
  auto const of = [&](raw_function const& f, std::string const& structure) {
    return run(f, s, "[" + structure + "]", 0, {5}).text;
  };
  auto const at = [](std::string text) {
    auto const place = text.find('@');
    return place == std::string::npos ? text : text.replace(place, 1, five);
  };
  auto const list = make_raw([](std::vector<std::optional<shared>> all) {
    int sum = 0;
    for (auto const& c : all) sum += c ? (*c)->next : 100;
    return sum;
  });
  EXPECT_EQ(of(list, at("[null,@,null]")), "207");
  EXPECT_EQ(of(list, "[]"), "0");
  EXPECT_EQ(of(list, at("@")), "argument 1: expected an array, got an object") << "not a list";
  EXPECT_EQ(of(list, "[1]"),
            "argument 1: expected a per-worker value, {\"$per_worker\":\"pw_…\"}, got a number 1");
  auto const deep = make_raw([](std::map<std::string, std::tuple<int, std::array<shared, 1>>> m) {
    auto const& [by, counters] = m.at("k");
    return counters[0]->next * by;
  });
  EXPECT_EQ(of(deep, at(R"({"k":[2,[@]]})")), "14");
  EXPECT_EQ(of(deep, R"({"k":[2,[]]})"), "argument 1: expected an array of 1, got an array");
  EXPECT_EQ(of(deep, at(R"({"k":["2",[@]]})")),
            "argument 1: expected an integer in range, got a string \"2\"");
  EXPECT_EQ(of(deep, "[]"), "argument 1: expected an object, got an array");
  auto const wrong = make_raw([](std::pair<std::shared_ptr<int>, int>) { return 0; });
  EXPECT_EQ(of(wrong, at("[@,1]")),
            "argument 1: {\"$per_worker\":\"pw_0000000000000005\"} is a value of another type");
}

TEST(per_worker_objects, error_of_a_builder_is_reported_to_dependent_calls) {
  per_worker_store s;
  auto const build = make_raw([](int) -> int { throw std::runtime_error("no data"); });
  EXPECT_FALSE(run(build, s, "[1]", 5, {}).ok);
  auto const use = make_raw([](int v) { return v; });
  EXPECT_EQ(run(use, s, "[" + std::string(five) + "]", 0, {5}).text,
            "per-worker value pw_0000000000000005 could not be built here: no data");
}

TEST(per_worker_objects, are_put_into_the_parsed_arguments_of_a_typed_function) {
  per_worker_store s;
  auto const at = make_raw([](std::vector<int> const& v, int i) { return v.at(std::size_t(i)); });
  auto const args = "[" + std::string(five) + ",1]";
  EXPECT_EQ(run(at, s, args, 0, {5}, true).text,
            "per-worker value pw_0000000000000005 is not on this worker");
  s.keep(5, json_value("[7,8]"));
  EXPECT_EQ(run(at, s, args, 0, {5}, true).text, "8");
  EXPECT_EQ(run(at, s, args, 0, {5}, false).text, "8") << "and as text";
}

TEST(per_worker_objects, function_gets_the_number_of_workers) {
  per_worker_store s;
  auto const f = make_raw([](context& c) { return c.num_workers(); });
  EXPECT_EQ(run(f, s, "[]", 5, {}).text, "null");
  EXPECT_EQ(s.find(5)->data.bytes, "4");
}

}  // namespace
}  // namespace muster
