#include "web/json/submission_json.hpp"

#include <gtest/gtest.h>

namespace muster::web {
namespace submission_json_cases {

job_request parse(std::string const& text, json_check& check) {
  EXPECT_FALSE(check_json(text)) << text;
  json_ref const body(text);
  return read_job(check, body);
}

std::string argument_text(std::string const& closure) {
  json_check check;
  auto const s = parse(R"({"closures":[)" + closure + "]}", check);
  EXPECT_FALSE(check.failed()) << closure << (check.failed() ? check.failure().detail : "");
  return s.closures.closures().empty() ? "" : std::string(s.closures.closures()[0].args.view());
}

TEST(submission_json, arguments_are_passed_as_written) {
  EXPECT_EQ(argument_text(R"({"function":"f"})"), "[]");
  EXPECT_EQ(argument_text(R"({"function":"f","args":[1.0, 12345678901234567890123]})"),
            "[1.0, 12345678901234567890123]");
  EXPECT_EQ(argument_text(R"({"function":"f","args":[1],"kwargs":{}})"), "[1]");
  EXPECT_EQ(argument_text(R"({"function":"f","kwargs":{"a":1}})"),
            R"({"args":[],"kwargs":{"a":1}})");
  EXPECT_EQ(argument_text(R"({"function":"f","args":[2],"kwargs":{"a":1},"options":{}})"),
            R"({"args":[2],"kwargs":{"a":1}})");
}

TEST(submission_json, bytes_as_the_only_argument_are_raw) {
  json_check check;
  auto const s = parse(R"({"closures":[{"function":"f","args":[{"$bytes":"AP8="}]}]})", check);
  ASSERT_FALSE(check.failed());
  EXPECT_EQ(s.closures.closures()[0].args.encoding(), core::encoding::bytes);
  EXPECT_EQ(s.closures.closures()[0].args.view(), std::string_view("\0\xff", 2));
}

TEST(submission_json, a_map_names_its_function_once) {
  json_check check;
  auto const s = parse(R"({"map":{"args":[[1],[],[2,3]],"function":"f"}})", check);
  ASSERT_FALSE(check.failed()) << check.failure().detail;
  ASSERT_EQ(s.closures.closures().size(), 3u);
  EXPECT_EQ(s.closures.names(), std::vector<std::string>{"f"});
  EXPECT_EQ(s.closures.closures()[2].args.view(), "[2,3]");
}

TEST(submission_json, job_fields_are_read) {
  json_check check;
  auto const s = parse(R"({"name":"n","cluster":"train","on_error":"continue","open":true,
      "options":{"require_function":true,"max_worker_failures":0},"metadata":{"a":[1]},
      "idempotency_key":"k"})",
                       check);
  ASSERT_FALSE(check.failed()) << check.failure().detail;
  EXPECT_EQ(s.cluster, "train");
  EXPECT_EQ(s.spec.name, "n");
  EXPECT_EQ(s.spec.on_error, core::on_error::continue_all);
  EXPECT_TRUE(s.spec.open);
  EXPECT_EQ(s.spec.delivery, core::delivery::job);
  EXPECT_TRUE(s.spec.require_function);
  EXPECT_TRUE(s.spec.unlimited_worker_failures);
  EXPECT_EQ(s.spec.metadata, R"({"a":[1]})");
  EXPECT_EQ(s.spec.idempotency_key, "k");
}

struct wrong_case {
  char const* body;
  char const* detail;
  unsigned status = 400;
};

TEST(submission_json, errors_name_the_field) {
  std::string const long_name = "{\"open\":true,\"name\":\"" + std::string(300, 'x') + "\"}";
  wrong_case const cases[] = {
      {"[]", "expected an object, got array"},
      {"{}", "closures: required"},
      {R"({"closures":{}})", "closures: expected an array, got object"},
      {R"({"closures":[1]})", "closures[0]: expected an object, got number"},
      {R"({"closures":[{"args":[]}]})", "closures[0].function: required"},
      {R"({"closures":[{"function":"f"},{"function":""}]})", "closures[1].function: required"},
      {R"({"closures":[{"function":"f"},{"function":1}]})",
       "closures[1].function: expected a string, got number"},
      {R"({"closures":[{"function":"f"},{"function":"f"},{"function":"f"},{"function":"f","args":"x"}]})",
       "closures[3].args: expected an array, got string"},
      {R"({"closures":[{"function":"f","kwargs":[]}]})",
       "closures[0].kwargs: expected an object, got array"},
      {R"({"closures":[{"function":"f","argz":[]}]})", "closures[0].argz: unknown field"},
      {R"({"closures":[{"function":"f","options":{"urgency":1}}]})",
       "closures[0].options.urgency: unknown field"},
      {R"({"closures":[{"function":"f","options":{"priority":2000000}}]})",
       "closures[0].options.priority: expected a whole number from -1000000 to 1000000"},
      {R"({"closures":[{"function":"f","options":{"delay":5}}]})",
       "closures[0].options.delay: expected a string, got number"},
      {R"({"closures":[{"function":"f","options":{"deadline":"soon"}}]})",
       "closures[0].options.deadline: expected a duration"},
      {R"({"open":true,"options":{"weight":0}})",
       "options.weight: expected a whole number from 1 to 1000"},
      {R"({"closures":[],"map":{"function":"f","args":[]}})",
       "map: 'closures' and 'map' cannot be combined"},
      {R"({"map":{"function":"f"}})", "map.args: required: an array of argument arrays"},
      {R"({"map":{"args":[]}})", "map.function: required"},
      {R"({"map":{"function":"f","args":[1]}})", "map.args[0]: expected an array, got number"},
      {R"({"open":true,"options":{"retries":3}})", "options.retries: unknown field"},
      {R"({"open":true,"options":{"max_worker_failures":-1}})",
       "options.max_worker_failures: expected a whole number from 0 to 255"},
      {R"({"open":1})", "open: expected a boolean, got number"},
      {R"({"open":true,"on_error":"stop"})",
       "on_error: expected fail_fast or continue, got 'stop'"},
      {R"({"open":true,"metadata":"x"})", "metadata: expected an object, got string"},
      {R"({"open":true,"clozures":[]})", "clozures: unknown field"},
      {long_name.c_str(), "name: has 300 bytes, the limit is 256"},
      {R"({"closures":[{"function":"f","args":[{"$remote_value":"rv_1"}]}]})",
       "closures[0].args[0].$remote_value: expected a RemoteValue's id"},
      {R"({"closures":[{"function":"f","args":[{"$remote_value":"#x"}]}]})",
       "closures[0].args[0].$remote_value: expected a RemoteValue's id"},
      {R"({"closures":[{"function":"f","args":[{"$remote_value":"#0","x":1}]}]})",
       "closures[0].args[0]: {\"$remote_value\": …} cannot have other members"},
      {R"({"closures":[{"function":"f","args":[{"x":1,"$remote_value":"#0"}]}]})",
       "closures[0].args[0]: {\"$remote_value\": …} cannot have other members"},
      {R"({"closures":[{"function":"f","args":[{"a":{"$remote_value":"#0"},"$remote_value":"#0"}]}]})",
       "closures[0].args[0]: {\"$remote_value\": …} cannot have other members"},
      {R"({"closures":[{"function":"f","args":[{"x":1,"$per_worker":"pw_0000000000000001"}]}]})",
       "closures[0].args[0]: {\"$per_worker\": …} cannot have other members"},
      {R"({"closures":[{"function":"f","kwargs":{"$remote_value":"#0"}}]})",
       "closures[0].kwargs: a named argument cannot be named '$remote_value'"},
      {R"({"closures":[{"function":"f","args":[[{"a":{"$per_worker":"pw_1"}}]]}]})",
       "closures[0].args[0][0].a.$per_worker: expected a per-worker value's id"},
      {R"({"closures":[{"function":"f","args":[{"$per_worker":"pw_0000000000000001","x":1}]}]})",
       "closures[0].args[0]: {\"$per_worker\": …} cannot have other members"},
      {R"({"open":true,"closures":[{"function":"f","options":{"task":":3"}}]})",
       "closures[0].options.task: expected a task such as"},
      {R"({"open":true,"closures":[{"function":"f","options":{"task":"worker:x"}}]})",
       "closures[0].options.task: expected a task such as"},
      {R"({"open":true,"closures":[{"function":"f","options":{"resources":{"gpu":0}}}]})",
       "closures[0].options.resources.gpu: "},
      {R"({"open":true,"closures":[{"function":"f","options":{"labels":{"a":1}}}]})",
       "closures[0].options.labels.a: expected a string, got number"},
      {R"({"closures":[{"function":"f","kwargs":{"x":{"\u0024remote_value":7}}}]})",
       "closures[0].kwargs.x.$remote_value: expected a string, got number"},
      {R"({"closures":[{"function":"f","args":[1,{"$bytes":"AA=="}]}]})",
       "closures[0].args[1]: {\"$bytes\"", 422},
      {R"({"closures":[{"function":"f","args":[{"$bytes":"!"}]}]})",
       "closures[0].args[0].$bytes: expected base64"},
  };
  for (auto const& c : cases) {
    json_check check;
    parse(c.body, check);
    ASSERT_TRUE(check.failed()) << c.body;
    EXPECT_EQ(check.failure().detail.rfind(c.detail, 0), 0u) << check.failure().detail;
    EXPECT_EQ(check.failure().status, c.status) << c.body;
  }
}

TEST(submission_json, worker_requirements_of_closures_are_read) {
  json_check check;
  auto const s = parse(R"({"closures":[{"function":"f","options":
      {"gang":"g","task":"worker:3","labels":{"zone":"a"},"resources":{"gpu":2}}},
      {"function":"f","options":{"task":"gpu"}},
      {"function":"f","args":[{"x":{"$per_worker":"pw_00000000000000ff"}},
                              {"$per_worker":"pw_00000000000000ff"}]}]})",
                       check);
  ASSERT_FALSE(check.failed()) << check.failure().detail;
  auto const& first = s.closures.closures()[0].extras->options;
  EXPECT_EQ(first.gang, "g");
  EXPECT_EQ(first.task_job, "worker");
  EXPECT_EQ(first.task_index, 3);
  EXPECT_EQ(first.labels, (std::vector<std::pair<std::string, std::string>>{{"zone", "a"}}));
  EXPECT_EQ(first.resources, (std::vector<std::pair<std::string, std::uint32_t>>{{"gpu", 2}}));
  EXPECT_EQ(s.closures.closures()[1].extras->options.task_job, "gpu");
  EXPECT_EQ(s.closures.closures()[1].extras->options.task_index, -1);
  auto const& third = s.closures.closures()[2];
  EXPECT_EQ(third.extras->per_worker, std::vector{core::per_worker_id{255}});
  EXPECT_NE(third.args.view().find("pw_00000000000000ff"), std::string_view::npos)
      << "the reference stays in the arguments";
}

TEST(submission_json, references_become_inputs_with_gaps_in_the_text) {
  json_check check;
  auto const s = parse(
      R"({"closures":[{"function":"f"},{"function":"f","args":[1,{"$remote_value":"#0"},"x"],)"
      R"("kwargs":{"k":[{"$remote_value":"rv_0000000100000002"}]}}]})",
      check);
  ASSERT_FALSE(check.failed());
  auto const& c = s.closures.closures().at(1);
  EXPECT_EQ(c.args.view(), R"({"args":[1,,"x"],"kwargs":{"k":[]}})");
  ASSERT_EQ(c.extras->inputs.size(), 2u);
  EXPECT_EQ(c.extras->inputs[0], (core::input_ref{{}, 0, 11}));
  EXPECT_EQ(c.extras->inputs[1], (core::input_ref{core::closure_id{0x100000002}, 0, 32}));
}

TEST(submission_json, options_are_read_and_shared_by_a_map) {
  json_check check;
  auto const s =
      parse(R"({"map":{"function":"f","args":[[1],[2]],"options":{"priority":-3,"delay":"2s",)"
            R"("deadline":"1m","max_retries":4,"retry_delay":"100ms","retry_delay_max":"5s"}},)"
            R"("options":{"weight":7,"deadline":"1h"}})",
            check);
  ASSERT_FALSE(check.failed());
  auto const& extras = s.closures.closures().at(0).extras;
  EXPECT_EQ(extras->options,
            (core::closure_options{-3, std::chrono::seconds(2), std::chrono::minutes(1), 4,
                                   std::chrono::milliseconds(100), std::chrono::seconds(5)}));
  EXPECT_EQ(s.closures.closures().at(1).extras, extras);
  EXPECT_EQ(s.spec.weight, 7u);
  EXPECT_EQ(s.spec.deadline, std::chrono::hours(1));
}

TEST(submission_json, hundred_thousand_entries_are_read_quickly) {
  std::string text = R"({"map":{"function":"f","args":[)";
  for (int i = 0; i < 100'000; ++i) text += (i ? ",[" : "[") + std::to_string(i) + ",\"abc\"]";
  text += "]}}";
  auto const start = std::chrono::steady_clock::now();
  ASSERT_FALSE(check_json(text));
  json_check check;
  json_ref const body(text);
  auto const s = read_job(check, body);
  auto const took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(s.closures.closures().size(), 100'000u);
  EXPECT_LT(took, std::chrono::seconds(2));
  RecordProperty("milliseconds", static_cast<int>(took / std::chrono::milliseconds(1)));
}

}  // namespace submission_json_cases
}  // namespace muster::web
