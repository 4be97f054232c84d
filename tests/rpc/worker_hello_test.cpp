#include "server/rpc/workers/worker_hello.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/hand_worker.hpp"

namespace muster::server {
namespace {

struct bad_hello {
  char const* name;
  std::function<void(v1::Hello&)> spoil;
  muster::code code;
  char const* field;  // a prefix of the error
};

void PrintTo(bad_hello const& b, std::ostream* out) {
  *out << b.name;
}

bad_hello const bad_hellos[] = {
    {"job_long", [](auto& h) { h.set_job(std::string(65, 'a')); }, muster::code::invalid_argument,
     "hello.job: 65 bytes"},
    {"job_letters", [](auto& h) { h.set_job("a b"); }, muster::code::invalid_argument,
     "hello.job: "},
    {"incarnation", [](auto& h) { h.set_incarnation(0); }, muster::code::invalid_argument,
     "hello.incarnation: must be"},
    {"slots", [](auto& h) { h.set_slots(0); }, muster::code::invalid_argument,
     "hello.slots: must be"},
    {"credits", [](auto& h) { h.set_slots(4), h.set_credits(3); }, muster::code::invalid_argument,
     "hello.credits: must be"},
    {"function_empty", [](auto& h) { h.add_function(""); }, muster::code::invalid_argument,
     "hello.function[1]: empty"},
    {"function_long", [](auto& h) { h.add_function(std::string(257, 'x')); },
     muster::code::invalid_argument, "hello.function[1]: 257 bytes"},
    {"function_control", [](auto& h) { h.add_function("a\nb"); }, muster::code::invalid_argument,
     "hello.function[1]: "},
    {"function_twice", [](auto& h) { h.add_function("f"); }, muster::code::invalid_argument,
     "hello.function[1]: 'f' is declared twice"},
    {"functions",
     [](auto& h) {
       for (int i = 0; i < 5000; ++i) h.add_function(std::to_string(i));
     },
     muster::code::resource_exhausted, "hello.function: 5001 functions"},
    {"labels",
     [](auto& h) {
       for (int i = 0; i < 65; ++i) (*h.mutable_label())[std::to_string(i)] = "v";
     },
     muster::code::invalid_argument, "hello.label: 65 labels"},
    {"label_key", [](auto& h) { (*h.mutable_label())[std::string(129, 'k')] = "v"; },
     muster::code::invalid_argument, "hello.label: key of 129 bytes"},
    {"label_value", [](auto& h) { (*h.mutable_label())["k"] = std::string(257, 'v'); },
     muster::code::invalid_argument, "hello.label: 'k': 257 bytes"},
    {"host", [](auto& h) { h.set_host(std::string(300, 'h')); }, muster::code::invalid_argument,
     "hello.host: 300 bytes"},
    {"version", [](auto& h) { h.set_version("1\t2"); }, muster::code::invalid_argument,
     "hello.version: "},
};

class bad_hello_test : public testing::TestWithParam<bad_hello> {};

TEST_P(bad_hello_test, names_the_field) {
  auto hello = test::make_hello();
  GetParam().spoil(hello);
  auto const spec = from_wire(hello, core::config{});
  ASSERT_TRUE(spec.has_error());
  EXPECT_EQ(spec.error().code, GetParam().code);
  EXPECT_EQ(spec.error().message.rfind(GetParam().field, 0), 0u) << spec.error().message;
}

INSTANTIATE_TEST_SUITE_P(all, bad_hello_test, testing::ValuesIn(bad_hellos),
                         [](auto const& i) { return std::string(i.param.name); });

TEST(worker_hello, missing_fields_get_defaults) {
  auto const spec = from_wire(test::make_hello({"f", "g"}, 2, 8), core::config{}).value();
  EXPECT_EQ(spec.job, "worker");
  EXPECT_EQ(spec.index, -1);
  EXPECT_EQ(spec.slots, 2u);
  EXPECT_EQ(spec.credits, 8u);
  EXPECT_EQ(spec.functions, (std::vector<std::string>{"f", "g"}));
}

TEST(worker_hello, keeps_credits_within_the_limit) {
  auto const spec = from_wire(test::make_hello({"f"}, 1, 1'000'000), core::config{}).value();
  EXPECT_EQ(spec.credits, core::config{}.credits_max);
}

TEST(worker_hello, sorts_labels) {
  auto hello = test::make_hello();
  for (auto const* key : {"zone", "gpu", "arch"}) (*hello.mutable_label())[key] = "1";
  auto const spec = from_wire(hello, core::config{}).value();
  ASSERT_EQ(spec.labels.size(), 3u);
  EXPECT_EQ(spec.labels.front().first, "arch");
  EXPECT_EQ(spec.labels.back().first, "zone");
}

TEST(worker_hello, held_closures_are_checked) {
  auto h = test::make_hello({"f"}, 1, 2);
  EXPECT_TRUE(held_from_wire(h)->empty());
  h.add_held_closure(5);
  EXPECT_EQ(held_from_wire(h).error().message, "hello.held_attempt: 0 entries for 1 closures");
  h.add_held_attempt(3);
  ASSERT_EQ(held_from_wire(h)->size(), 1u);
  EXPECT_EQ(held_from_wire(h)->at(0).closure, core::closure_id{5});
  EXPECT_EQ(held_from_wire(h)->at(0).attempt, 3u);
  h.add_held_closure(5), h.add_held_attempt(4);
  EXPECT_EQ(held_from_wire(h).error().message, "hello.held_closure[1]: listed twice");
  h.set_held_closure(1, 6);
  EXPECT_EQ(held_from_wire(h)->size(), 2u);
  h.add_held_waits(1);
  EXPECT_FALSE(held_from_wire(h)->at(0).waits);
  EXPECT_TRUE(held_from_wire(h)->at(1).waits);
  h.set_held_waits(0, 2);
  EXPECT_EQ(held_from_wire(h).error().message,
            "hello.held_waits: 2, but there are 2 held closures");
  h.clear_held_waits();
  h.add_held_closure(7), h.add_held_attempt(1);
  EXPECT_EQ(held_from_wire(h).error().message,
            "hello.held_closure: 3 closures, which exceeds credits (2)");
}

TEST(worker_hello, repeated_answers_are_checked) {
  auto h = test::make_hello({"f"}, 1, 2);
  h.add_held_closure(5), h.add_held_attempt(1);
  EXPECT_TRUE(answers_from_wire(h)->empty());
  auto& a = *h.mutable_answers();
  a.add_closure(6), a.add_attempt(2);
  EXPECT_EQ(answers_from_wire(h).error().message, "hello.answers.value: 0 entries for 1 closures");
  a.add_value("1");
  ASSERT_EQ(answers_from_wire(h)->size(), 1u);
  EXPECT_EQ(answers_from_wire(h)->at(0).closure, core::closure_id{6});
  EXPECT_EQ(answers_from_wire(h)->at(0).attempt, 2u);
  EXPECT_EQ(answers_from_wire(h)->at(0).value.view(), "1");
  a.add_closure(5), a.add_attempt(1), a.add_value("1");
  EXPECT_EQ(answers_from_wire(h).error().message, "hello.answers.closure[1]: listed twice");
  a.set_closure(1, 7);
  auto& f = *a.add_failure();
  f.set_position(1);
  EXPECT_EQ(answers_from_wire(h).error().message,
            "hello.answers.failure[0].position: 1 also has a value");
  for (std::uint64_t n = 0; n < 4'096; ++n) a.add_closure(100 + n);
  EXPECT_EQ(answers_from_wire(h).error().message, "hello.answers: 4098 answers, the limit is 4096");
}

}  // namespace
}  // namespace muster::server
