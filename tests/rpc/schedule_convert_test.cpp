#include "server/rpc/sessions/schedule_convert.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "server/core/api/placeholders.hpp"

namespace muster::server {
namespace {

std::vector<core::function_id> const known{core::function_id{40}, core::function_id{41}};

core::closure_id nothing_held(std::uint64_t) {
  return {};
}

v1::SessionRequest two_closures() {
  v1::SessionRequest m;
  for (std::uint64_t token : {1, 2}) {
    m.add_token(token);
    m.add_function(1);
    m.add_args("[]");
  }
  return m;
}

TEST(schedule_convert, closures_are_converted) {
  submission closures;
  auto m = two_closures();
  *m.mutable_args(1) = "[5]";
  ASSERT_EQ(from_wire(m, known, nothing_held, closures), "");
  ASSERT_EQ(closures.closures().size(), 2u);
  EXPECT_EQ(closures[0].function, core::function_id{41});
  EXPECT_EQ(closures[0].args, core::blob("[]"));
  EXPECT_EQ(closures[1].token, 2u);
  EXPECT_EQ(closures[1].args, core::blob("[5]"));
}

TEST(schedule_convert, callables_of_functions_are_converted) {
  submission closures;
  auto m = two_closures();
  auto& step = *m.add_callable();
  step.set_name("tr\u00e4in.step");
  step.set_hash(std::string(32, '\xff'));
  m.add_callable_of(0);
  m.add_callable_of(1);
  ASSERT_EQ(from_wire(m, known, nothing_held, closures), "");
  EXPECT_EQ(closures[0].callable, 0u);
  EXPECT_EQ(closures[1].callable, 1u);
  EXPECT_EQ(closures.appending({}).callables,
            (std::vector<core::callable_name>{{step.name(), step.hash()}}));
  closures.clear();
  ASSERT_EQ(from_wire(two_closures(), known, nothing_held, closures), "");
  EXPECT_TRUE(closures.callables().empty());
}

TEST(schedule_convert, names_are_limited_to_256_bytes) {
  submission closures;
  auto m = two_closures();
  m.add_callable()->set_name(std::string(256, 'n'));
  EXPECT_EQ(from_wire(m, known, nothing_held, closures), "");
}

struct bad_request {
  char const* name;
  std::function<void(v1::SessionRequest&)> spoil;
  char const* begins;
};

void PrintTo(bad_request const& b, std::ostream* out) {
  *out << b.name;
}

bad_request const bad_requests[] = {
    {"function", [](auto& m) { m.add_function(0); }, "function: 3 entries for 2 closures"},
    {"args", [](auto& m) { m.clear_args(); }, "args: 0 entries for 2 closures"},
    {"encoding", [](auto& m) { m.add_encoding(v1::JSON); }, "encoding: 1 entries for 2 closures"},
    {"options_of", [](auto& m) { m.add_options_of(0); }, "options_of: 1 entries for 2 closures"},
    {"option_number",
     [](auto& m) {
       m.add_options_of(0);
       m.add_options_of(1);
     },
     "options_of[1]: number 1, but the message has only 0"},
    {"callable_of", [](auto& m) { m.add_callable_of(0); }, "callable_of: 1 entries for 2 closures"},
    {"callable_number",
     [](auto& m) {
       m.add_callable()->set_name("a");
       m.add_callable_of(0);
       m.add_callable_of(2);
     },
     "callable_of[1]: number 2, but the message has only 1"},
    {"callable_no_name", [](auto& m) { m.add_callable(); },
     "callable[0].name: must have 1 to 256 bytes, got 0"},
    {"callable_long_name", [](auto& m) { m.add_callable()->set_name(std::string(257, 'n')); },
     "callable[0].name: must have 1 to 256 bytes, got 257"},
    {"callable_two_lines", [](auto& m) { m.add_callable()->set_name("a\nb"); },
     "callable[0].name: contains a control character"},
    {"callable_hash",
     [](auto& m) {
       m.add_callable()->set_name("a");
       m.mutable_callable(0)->set_hash("abc");
     },
     "callable[0].hash: must have 32 bytes, got 3"},
    {"input_position", [](auto& m) { m.add_input()->set_position(2); },
     "input[0].position: 2, but the message has only 2 closures"},
    {"input_token",
     [](auto& m) {
       m.add_input()->set_position(1);
       m.mutable_input(0)->set_token(2);
     },
     "input[0].token: 2 belongs neither to a stored closure nor to an earlier closure of this "
     "message"},
    {"number", [](auto& m) { m.set_function(1, 2); },
     "function[1]: number 2, but the number of function names on this stream is 2"},
};

class bad_request_test : public testing::TestWithParam<bad_request> {};

TEST_P(bad_request_test, names_the_field) {
  auto m = two_closures();
  GetParam().spoil(m);
  submission closures;
  auto const wrong = from_wire(m, known, nothing_held, closures);
  EXPECT_EQ(wrong.rfind(GetParam().begins, 0), 0u) << wrong;
}

INSTANTIATE_TEST_SUITE_P(all, bad_request_test, testing::ValuesIn(bad_requests),
                         [](auto const& i) { return std::string(i.param.name); });

TEST(schedule_convert, options_are_shared_and_inputs_found_by_token) {
  auto m = two_closures();
  m.add_options()->set_priority(5);
  m.mutable_options(0)->set_gang("g");
  m.mutable_options(0)->set_delay_ms(~std::uint64_t{0});
  m.mutable_options(0)->set_task_index(3);
  m.add_options_of(1);
  m.add_options_of(1);
  for (std::uint64_t const token : {1, 9}) {
    auto& input = *m.add_input();
    input.set_position(1);
    input.set_offset(1);
    input.set_token(token);
  }
  submission closures;
  auto const held = [](std::uint64_t token) {
    return token == 9 ? core::closure_id{99} : core::closure_id{};
  };
  ASSERT_EQ(from_wire(m, known, held, closures), "");
  EXPECT_EQ(closures[0].extras->options.priority, 5);
  EXPECT_EQ(closures[0].extras->options.gang, "g");
  EXPECT_GT(closures[0].extras->options.delay, std::chrono::hours(24 * 365))
      << "refused, not wrapped";
  EXPECT_TRUE(closures[0].extras->inputs.empty());
  EXPECT_EQ(closures[1].extras->options, closures[0].extras->options);
  ASSERT_EQ(closures[1].extras->inputs.size(), 2u);
  EXPECT_EQ(closures[1].extras->inputs[0], (core::input_ref{{}, 0, 1}));
  EXPECT_EQ(closures[1].extras->inputs[1], (core::input_ref{core::closure_id{99}, 0, 1}));
}

TEST(schedule_convert, inputs_of_bytes_are_in_the_clients_order_and_leave_no_gaps) {
  auto m = two_closures();
  m.add_encoding(v1::JSON);
  m.add_encoding(v1::BYTES);
  for (std::uint64_t const token : {9, 1}) {
    auto& input = *m.add_input();
    input.set_position(1);
    input.set_token(token);
    input.set_pickled(token == 9);
  }
  auto& value = *m.add_input();
  value.set_position(1);
  value.set_per_worker(7);
  auto const held = [](std::uint64_t token) {
    return token == 9 ? core::closure_id{99} : core::closure_id{};
  };
  submission closures;
  ASSERT_EQ(from_wire(m, known, held, closures), "");
  auto const& extras = *closures[1].extras;
  EXPECT_EQ(extras.inputs, (std::vector<core::input_ref>{
                               {core::closure_id{99}, 0, core::beside_pickled}, {{}, 0, 0}}));
  EXPECT_EQ(extras.per_worker, std::vector{core::per_worker_id{7}});
  m.mutable_input(1)->set_offset(3);
  submission refused;
  EXPECT_EQ(from_wire(m, known, held, refused),
            "input[1].offset: must be 0 for arguments in bytes, got 3");
}

TEST(schedule_convert, open_message_is_converted) {
  v1::Open open;
  open.set_cluster("default");
  open.set_continue_on_error(true);
  open.set_queue_capacity(9);
  auto const spec = from_wire(open).value();
  EXPECT_EQ(spec.delivery, core::delivery::stream);
  EXPECT_TRUE(spec.open);
  EXPECT_EQ(spec.on_error, core::on_error::continue_all);
  EXPECT_EQ(spec.queue_capacity, 9u);
}

TEST(schedule_convert, absent_loss_limit_differs_from_no_limit) {
  v1::Open open;
  auto spec = from_wire(open).value();
  EXPECT_EQ(spec.max_worker_failures, 0u);
  EXPECT_FALSE(spec.unlimited_worker_failures) << "the server's default";
  open.set_unlimited_worker_failures(true);
  EXPECT_TRUE(from_wire(open).value().unlimited_worker_failures);
  open.set_unlimited_worker_failures(false);
  open.set_max_worker_failures(5);
  spec = from_wire(open).value();
  EXPECT_EQ(spec.max_worker_failures, 5u);
  EXPECT_FALSE(spec.unlimited_worker_failures);
}

TEST(schedule_convert, refuses_long_names) {
  v1::Open open;
  open.set_name(std::string(257, 'n'));
  EXPECT_EQ(from_wire(open).error().code, muster::code::invalid_argument);
}

}  // namespace
}  // namespace muster::server
