// Submitted calls of the C++ client. Each case has a test of the same name for the Python client in
// python/tests/calls/test_submit.py, which checks that.
#include "tests/conformance/coordinator/fixture.hpp"

namespace muster::test {
namespace {

using submit_conformance = conformance;

constexpr std::chrono::seconds deadline{60};

TEST_F(submit_conformance, arguments_are_passed_to_the_function) {
  auto const v = c->submit<int>("step", 3);
  EXPECT_EQ(c->submit<int>("step", v).fetch(deadline), 3) << "an output is an argument";
  EXPECT_EQ(steps, 6);
}

TEST_F(submit_conformance, an_error_is_raised_by_its_value_alone) {
  auto const failed = c->submit<int>("fail", "mine");
  EXPECT_THROW(failed.fetch(deadline), closure_error);
  EXPECT_THROW(failed.fetch(deadline), closure_error) << "each time";
  EXPECT_EQ(c->submit<int>("step", 1).fetch(deadline), 1);
  EXPECT_EQ(c->schedule<int>("step", 1).fetch(deadline), 1);
  EXPECT_TRUE(c->join(deadline));
}

TEST_F(submit_conformance, error_of_a_scheduled_call_cancels_no_submitted_call) {
  auto const running = c->submit<int>("hold");
  held.wait_for(1);
  EXPECT_THROW(c->schedule<int>("fail", "whole").fetch(deadline), closure_error);
  EXPECT_EQ(running.status(), value_status::not_ready);
  held.open();
  EXPECT_NO_THROW(running.fetch(deadline));
  EXPECT_THROW(c->join(deadline), closure_error);
}

TEST_F(submit_conformance, join_waits_for_submitted_calls) {
  auto const running = c->submit<int>("hold");
  held.wait_for(1);
  EXPECT_FALSE(c->join(std::chrono::milliseconds(1)));
  held.open();
  EXPECT_TRUE(c->join(deadline));
  EXPECT_NO_THROW(running.fetch(std::chrono::milliseconds(0)));
}

TEST_F(submit_conformance, cancel_ends_calls_submitted_before_it) {
  auto const waiting = c->submit<int>("nobody.has.this");
  c->cancel();
  EXPECT_THROW(waiting.fetch(deadline), cancelled_error);
  EXPECT_EQ(c->submit<int>("step", 1).fetch(deadline), 1) << "submitted after it";
}

TEST_F(submit_conformance, cancel_after_an_error_ends_submitted_calls) {
  auto const waiting = c->submit<int>("nobody.has.this");
  EXPECT_THROW(c->schedule<int>("fail", "whole").fetch(deadline), closure_error);
  c->cancel();
  EXPECT_THROW(waiting.fetch(deadline), cancelled_error);
  EXPECT_THROW(c->join(deadline), closure_error);
}

}  // namespace
}  // namespace muster::test
