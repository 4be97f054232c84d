#include "server/core/coordination/errors/error_polls.hpp"
#include "server/core/coordination/errors/failure_record.hpp"

namespace muster::core::coordination {
namespace errors_cases {

TEST(failure_record, keeps_the_first_cause_and_separates_casualties_from_victims) {
  failure_record r;
  EXPECT_FALSE(r.is_casualty(1)) << "nothing has happened";
  r.add_victim(2);
  r.blame(0, {"a", {}, "boom", {}});
  r.blame(1, {"b", {}, "later", {}});
  EXPECT_EQ(r.cause()->message, "boom");
  EXPECT_EQ(r.cause_task(), 0u);
  EXPECT_FALSE(r.is_casualty(0));
  EXPECT_TRUE(r.is_casualty(1));
  EXPECT_FALSE(r.is_casualty(2));
  EXPECT_EQ(r.with_cause("x"), "x\nFirst cause: boom");
  EXPECT_EQ(r.with_cause("it went boom"), "it went boom") << "it was reported already";
}

TEST(failure_record, fails_and_broadcasts_once) {
  failure_record r;
  EXPECT_TRUE(r.fail());
  EXPECT_FALSE(r.fail());
  EXPECT_TRUE(r.set_broadcast(refusal(code::internal, "first")));
  EXPECT_FALSE(r.set_broadcast(refusal(code::internal, "second")));
  EXPECT_EQ(r.broadcast()->message, "first");
}

TEST(error_polls, each_task_has_at_most_one_call) {
  error_polls polls(2);
  EXPECT_EQ(polls.take(0), call_id{});
  polls.add(0, call_id{5});
  EXPECT_EQ(polls.waiting(), 1u);
  EXPECT_EQ(polls.take(0), call_id{5});
  EXPECT_EQ(polls.waiting(), 0u);
}

TEST(faults, have_room_for_their_details) {
  std::string const text(10'000, 'x');
  EXPECT_EQ(cut(text).size(), message_bytes_max);
  EXPECT_LT(cut(text, 4'000).size(), cut(text).size());
  auto const f = barrier_fault({"b", 3}, code::internal, "x");
  EXPECT_EQ(f->barrier->counter, 3);
  EXPECT_EQ(task_fault(7, code::internal, "x", true)->source, 7u);
}

}  // namespace errors_cases
}  // namespace muster::core::coordination
