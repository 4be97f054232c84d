#include "tests/hub/durable_jobs.hpp"

namespace muster::server {
namespace durable_cases {

// A session that is not durable takes a value of a durable session.
struct takers : durable_sessions {
  recording_session taker;
  core::session_id plain{};

  void SetUp() override {
    durable_sessions::SetUp();
    core::open_session e;
    e.spec.delivery = core::delivery::stream;
    e.spec.open = true;
    plain = std::get<core::session_reply>(h->ask_now(std::move(e)).body).session;
    h->attach(plain, taker);
    schedule(session, {1});
    core::input_ref taken;
    taken.closure = w.held.at(0).closure;
    taken.offset = 1;
    auto extras = std::make_shared<core::closure_extras>();
    extras->inputs.push_back(taken);
    core::schedule both;
    both.session = plain;
    auto const f = h->learn({"f"}).ids.at(0);
    both.closures.push_back({f, 0, 5, core::blob("[]"), extras});
    both.closures.push_back({f, 0, 6, core::blob("[]")});
    both.closures.push_back({f, 0, 7, core::blob("[]")});
    h->apply(std::move(both));
    commits.on_durable(written, {}, at);
    answer(1);  // the value that is an input of closure 5
    behind_value = written;
    schedule(held({}), {2});                // written as well
    std::swap(w.held.at(0), w.held.at(2));  // closure 5 first
  }
  std::uint64_t behind_value = 0;
};

TEST_F(takers, later_outcomes_do_not_overtake_those_waiting_for_the_disk) {
  answer(1);
  commits.on_durable(behind_value, {}, at);
  EXPECT_TRUE(taker.tokens.empty()) << "a held outcome waits for everything that was appended";
  answer(1);
  EXPECT_TRUE(taker.tokens.empty());
  commits.on_durable(written, {}, at);
  ASSERT_EQ(taker.tokens.size(), 2u);
  EXPECT_EQ(taker.tokens[0], 5u);
  answer(1);
  EXPECT_EQ(taker.tokens.size(), 3u) << "at once again";
}

TEST_F(takers, end_of_a_session_follows_its_outcomes) {
  h->apply(core::seal_session{{}, plain});
  answer(1);
  commits.on_durable(behind_value, {}, at);
  answer(2);
  auto const ends = [this] { return taker.notices.size(); };
  EXPECT_EQ(ends(), 0u);
  commits.on_durable(written, {}, at);
  EXPECT_EQ(taker.tokens.size(), 3u);
  EXPECT_EQ(ends(), 1u);
}

// A session that gets an outcome can submit more before the next one gets its outcome.
TEST_F(takers, outcomes_keep_their_order_while_waiting_ones_are_sent) {
  h->gate().when_durable(written, [this] { answer(1); });
  answer(1);
  commits.on_durable(written, {}, at);
  ASSERT_EQ(taker.tokens.size(), 2u);
  EXPECT_EQ(taker.tokens[0], 5u);
}

}  // namespace durable_cases
}  // namespace muster::server
