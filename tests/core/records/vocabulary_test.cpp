#include "server/core/coordinator_state.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(vocabulary, codes_have_the_names_and_numbers_of_grpc) {
  std::pair<int, char const*> const expected[] = {{0, "OK"},
                                                  {1, "CANCELLED"},
                                                  {2, "UNKNOWN"},
                                                  {3, "INVALID_ARGUMENT"},
                                                  {4, "DEADLINE_EXCEEDED"},
                                                  {5, "NOT_FOUND"},
                                                  {6, "ALREADY_EXISTS"},
                                                  {7, "PERMISSION_DENIED"},
                                                  {8, "RESOURCE_EXHAUSTED"},
                                                  {9, "FAILED_PRECONDITION"},
                                                  {10, "ABORTED"},
                                                  {11, "OUT_OF_RANGE"},
                                                  {12, "UNIMPLEMENTED"},
                                                  {13, "INTERNAL"},
                                                  {14, "UNAVAILABLE"},
                                                  {16, "UNAUTHENTICATED"},
                                                  {99, "UNKNOWN"}};
  for (auto const& [number, text] : expected) EXPECT_EQ(name(static_cast<code>(number)), text);
}

template <class Enum>
names all_names(int count) {
  names out;
  for (int i = 0; i < count; ++i) out.emplace_back(name(static_cast<Enum>(i)));
  return out;
}

TEST(vocabulary, states_are_shown_in_capitals) {
  EXPECT_EQ(all_names<closure_state>(7),
            (names{"BLOCKED", "QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "?"}));
  EXPECT_EQ(all_names<value_state>(4), (names{"NOT_READY", "READY", "ABORTED", "?"}));
  EXPECT_EQ(all_names<failure_kind>(8),
            (names{"USER", "WORKER_LOST", "STALE_HANDLE", "DEPENDENCY_LOST", "TIMEOUT", "CANCELLED",
                   "INPUT", "?"}));
  EXPECT_EQ(all_names<task_state>(5), (names{"CONNECTED", "LATE", "ERROR", "DISCONNECTED", "?"}));
  EXPECT_EQ(all_names<job_state>(6),
            (names{"RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "QUEUED", "?"}));
  EXPECT_EQ(all_names<on_error>(2), (names{"fail_fast", "continue"}));
}

TEST(vocabulary, ids_have_sixteen_digits) {
  EXPECT_EQ(text(session_id{0x1f}), "job_000000000000001f");
  EXPECT_EQ(text(closure_id{0x100000000ull}), "cl_0000000100000000");
}

TEST(vocabulary, times_are_exported_as_milliseconds) {
  EXPECT_EQ(to_unix_ms(start), 1'700'000'000'000);
  EXPECT_EQ(to_unix_ms(start + 1'999us), 1'700'000'000'001);
}

TEST(vocabulary, asking_an_error_for_its_value_throws_the_message) {
  result<int> const wrong = status{code::not_found, "no such thing"};
  try {
    wrong.value();
    FAIL() << "did not throw";
  } catch (status_error const& e) {
    EXPECT_STREQ(e.what(), "no such thing");
  }
}

TEST(vocabulary, heartbeat_times_follow_from_the_timeout) {
  config c;
  c.heartbeat_timeout = 6s;
  EXPECT_EQ(c.heartbeat_interval(), 2s);
  EXPECT_EQ(c.late_after(), 5s);
}

TEST(vocabulary, cleared_effects_are_empty) {
  effects fx;
  fx.welcomes.resize(1);
  fx.dispatches.resize(1);
  fx.assignments.resize(1);
  fx.stop_requests.resize(1);
  fx.drain_requests.resize(1);
  fx.disconnects.resize(1);
  fx.outcomes.resize(1);
  fx.notices.resize(1);
  fx.replies.resize(1);
  fx.clear();
  EXPECT_EQ(fx, effects{});
}

TEST(vocabulary, configuration_is_returned_unchanged) {
  config small;
  small.queue_capacity = 7;
  EXPECT_EQ(cluster(small).core.configuration().queue_capacity, 7u);
}

}  // namespace
}  // namespace muster::core
