#include "server/hub/programs/rank_stacks.hpp"

#include <gtest/gtest.h>

namespace muster::server {
namespace {

struct stacks_round : testing::Test {
  std::uint64_t begin(std::vector<std::uint32_t> ranks) {
    // Rank 3 has no worker; rank 4's worker rejects queries.
    auto const worker = [](std::uint32_t rank) {
      std::uint64_t const streams[] = {1, 1, 2, 0, 3};
      return core::stream_id{streams[rank]};
    };
    auto const ask = [this](core::stream_id stream, stacks_query const& q) {
      if (stream == core::stream_id{3}) return false;
      asked.emplace_back(stream, q);
      return true;
    };
    return all.begin({0, core::program_id{7}, 2, std::move(ranks)}, worker, ask);
  }
  std::vector<stack_state> states(std::uint64_t round) {
    std::vector<stack_state> found;
    for (auto const& s : all.end(round)) found.push_back(s.state);
    return found;
  }
  rank_stacks all;
  std::vector<std::pair<core::stream_id, stacks_query>> asked;
};

TEST_F(stacks_round, asks_each_worker_once_and_ends_with_the_last_answer) {
  auto const round = begin({0, 1, 2, 3, 4});
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].second.ranks, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(asked[0].second.attempt, 2u);
  int over = 0;
  all.await(round, [&] { ++over; });
  auto const [first, q] = asked[0];
  all.deliver(asked[1].first, {q.number, false, {{0, stack_state::taken, "a lie"}}});
  all.deliver(
      first,
      {q.number, false, {{0, stack_state::taken, "here"}, {2, stack_state::taken, "of another"}}});
  EXPECT_EQ(over, 0);
  all.deliver(asked[1].first, {asked[1].second.number, true, {}});
  EXPECT_EQ(over, 1);
  auto const found = all.end(round);
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0].text, "here");
  EXPECT_EQ(found[1].state, stack_state::no_answer);
  EXPECT_EQ(found[2].state, stack_state::busy);
  EXPECT_EQ(found[3].state, stack_state::away);
  EXPECT_EQ(found[4].state, stack_state::away);
  EXPECT_TRUE(all.end(round).empty()) << "it is forgotten";
}

TEST_F(stacks_round, ends_for_disconnected_workers) {
  auto const round = begin({0, 2});
  bool over = false;
  all.await(round, [&] { over = true; });
  all.forget_worker(core::stream_id{1});
  EXPECT_FALSE(over);
  all.forget_worker(core::stream_id{2});
  EXPECT_TRUE(over);
  EXPECT_EQ(states(round), (std::vector{stack_state::away, stack_state::away}));
}

TEST_F(stacks_round, has_partial_results_before_its_end) {
  auto const round = begin({0, 2});
  all.deliver(asked[1].first, {asked[1].second.number, false, {{2, stack_state::stopped}}});
  EXPECT_EQ(states(round), (std::vector{stack_state::no_answer, stack_state::stopped}));
  all.deliver(asked[0].first, {asked[0].second.number, false, {{0, stack_state::taken}}});
  bool over = false;
  all.await(round, [&] { over = true; });
  EXPECT_TRUE(over) << "unknown ranks are not awaited";
}

TEST_F(stacks_round, unasked_ranks_are_reported_as_busy) {
  auto const round = begin({0, 1});
  all.deliver(
      asked[0].first,
      {asked[0].second.number, true, {{0, stack_state::no_answer}, {1, stack_state::stopped}}});
  EXPECT_EQ(states(round), (std::vector{stack_state::busy, stack_state::stopped}));
}

TEST_F(stacks_round, oldest_round_ends_when_there_are_too_many) {
  auto const first = begin({0});
  bool over = false;
  all.await(first, [&] { over = true; });
  for (std::size_t i = 1; i < rank_stacks::rounds_max; ++i) begin({0});
  EXPECT_FALSE(over);
  begin({0});
  EXPECT_TRUE(over);
  EXPECT_EQ(states(first), std::vector{stack_state::no_answer}) << "with partial results";
}

TEST(stack_states, have_names) {
  EXPECT_EQ(name(stack_state::unknown), "UNKNOWN");
  EXPECT_EQ(name(stack_state::busy), "BUSY");
}

}  // namespace
}  // namespace muster::server
