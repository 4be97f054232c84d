#include "server/rpc/object_convert.hpp"

#include <gtest/gtest.h>

namespace muster::server {
namespace {

void add_call(v1::ObjectRequests& to, std::uint64_t number) {
  to.add_number(number);
  to.add_object(7);
  to.add_method("add");
  to.add_args("1");
}

std::string wrong(v1::ObjectRequests const& r) {
  std::vector<core::objects::call_spec> calls;
  return from_wire(r, calls);
}

TEST(object_convert, calls_are_rows_of_columns) {
  v1::ObjectRequests r;
  add_call(r, 3);
  add_call(r, 5);
  std::vector<core::objects::call_spec> calls;
  ASSERT_EQ(from_wire(r, calls), "");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[1].number, 5u);
  EXPECT_EQ(calls[1].object, core::object_id{7});
  EXPECT_EQ(calls[1].method, "add");
  EXPECT_EQ(calls[1].args.view(), "1");
  r.add_method("one more");
  EXPECT_NE(wrong(r).find("must have the same length"), std::string::npos);
}

TEST(object_convert, numbers_must_ascend) {
  v1::ObjectRequests none;
  add_call(none, 0);
  EXPECT_EQ(wrong(none), "number[0]: must be in ascending order, from 1");
  v1::ObjectRequests twice;
  for (auto const n : {4u, 4u}) add_call(twice, n);
  EXPECT_EQ(wrong(twice), "number[1]: must be in ascending order, from 1")
      << "each repeated call could have a large answer";
}

TEST(object_convert, rows_of_a_message_are_limited) {
  v1::ObjectRequests taken, waits;
  for (std::uint64_t n = 1; n <= 16'384; ++n) {
    taken.add_taken(n);
    waits.add_wait();
  }
  EXPECT_EQ(wrong(taken), "");
  taken.add_taken(1);
  EXPECT_EQ(wrong(taken), "taken: 16385, the limit is 16384");
  waits.add_wait();
  EXPECT_EQ(wrong(waits), "wait: 16385, the limit is 16384");
}

TEST(object_convert, failure_must_refer_to_a_row) {
  v1::ObjectReports r;
  r.add_object(7);
  r.add_caller(1);
  r.add_of_worker(false);
  r.add_number(2);
  r.add_value("");
  r.add_encoding(v1::BYTES);
  auto& f = *r.add_failure();
  f.set_type("ValueError");
  f.set_message("no");
  std::vector<object_hub::report> answers;
  ASSERT_EQ(from_wire(r, answers), "");
  EXPECT_FALSE(answers.at(0).answer.ok);
  EXPECT_EQ(answers.at(0).answer.why.message, "no");
  f.set_position(1);
  EXPECT_EQ(from_wire(r, answers), "objects.failure: position 1 is not one of its rows");
}

TEST(object_convert, only_the_server_can_give_reasons_for_refusals) {
  core::objects::call_answer a;
  a.ok = false;
  a.why = core::objects::because(
      core::failure_reason::no_room_for_call,
      {core::failure_kind::user, "muster.ResourceExhausted", "full", "", "", 0});
  v1::ObjectAnswers answers;
  to_wire(a, answers);
  EXPECT_EQ(answers.failure(0).reason(), v1::NO_ROOM_FOR_CALL);

  v1::ObjectReports r;
  r.add_object(7);
  r.add_caller(1);
  r.add_of_worker(false);
  r.add_number(1);
  r.add_value("");
  r.add_encoding(v1::JSON);
  r.add_failure()->set_reason(v1::NO_ROOM_FOR_CALL);
  std::vector<object_hub::report> reports;
  ASSERT_EQ(from_wire(r, reports), "");
  EXPECT_EQ(reports[0].answer.why.reason, core::failure_reason::unspecified)
      << "a method could make its caller repeat an update";
}

TEST(object_convert, object_created_with_json_is_called_with_json) {
  v1::NewObject o;
  o.set_encoding(v1::BYTES);
  EXPECT_FALSE(from_wire(o).json);
  o.set_encoding(v1::JSON);
  EXPECT_TRUE(from_wire(o).json);
}

}  // namespace
}  // namespace muster::server
