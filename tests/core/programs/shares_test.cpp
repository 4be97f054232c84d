#include "server/core/programs/shares.hpp"

#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

program_spec of(std::string const& submitter, std::uint32_t gpus, std::uint32_t weight = 1) {
  auto spec = of_workers(gpus, {{"gpu", 1}});
  spec.submitted_by = submitter;
  spec.weight = weight;
  return spec;
}

/// A worker whose GPUs are all used by the first program.
struct full : bench {
  stream_id w;
  program_id first;
  explicit full(std::uint32_t gpus) : w(attach(0, {{"gpu", gpus}})), first(submit(of("x", gpus))) {
    run_all(first);
  }
  void run_all(program_id id) {
    auto const p = find(id);
    for (std::uint32_t i = 0; i < p.ranks; ++i) run(w, id, p.attempt, {i});
  }
  void finish(program_id id) {
    auto const p = find(id);
    for (std::uint32_t i = 0; i < p.ranks; ++i) end(w, id, p.attempt, i);
    advance_in_touch(1s);
  }
  bool runs(program_id id) const {
    return state(id) == program_state::starting || state(id) == program_state::running;
  }
  std::uint64_t running_of(std::vector<program_id> const& all) const {
    return static_cast<std::uint64_t>(
        std::count_if(all.begin(), all.end(), [this](auto id) { return runs(id); }));
  }
};

TEST(program_shares, submitter_with_the_fewest_ranks_goes_first) {
  full b(4);
  std::vector<program_id> a, c;
  for (int i = 0; i < 4; ++i) a.push_back(b.submit(of("a", 1)));
  for (int i = 0; i < 4; ++i) c.push_back(b.submit(of("c", 1)));
  b.finish(b.first);
  EXPECT_EQ(b.running_of(a), 2u)
      << "they were submitted first and have no more turns for that reason";
  EXPECT_EQ(b.running_of(c), 2u);
}

TEST(program_shares, program_that_cannot_start_does_not_use_a_turn) {
  std::map<program_id, program> all;
  std::vector<program*> waiting;
  auto const add = [&](std::string const& submitter, std::string const& upload) {
    auto spec = of(submitter, 1);
    spec.upload = upload;
    auto const id = program_id{waiting.size() + 1};
    auto& p = all[id];
    p.id = id;
    p.spec = std::make_shared<program_spec const>(spec);
    waiting.push_back(&p);
    return &p;
  };
  auto* const lacks = add("a", "an upload that is not there");
  auto* const able = add("a", "");
  auto* const other = add("c", "");
  auto* const pauses = add("c", "");
  pauses->not_before = time_point{10s};
  EXPECT_EQ(in_turn(waiting, all, time_point{}),
            (std::vector<program*>{able, other, lacks, pauses}));
}

TEST(program_shares, are_proportional_to_the_weights) {
  full b(8);
  std::vector<program_id> a, c;
  for (int i = 0; i < 8; ++i) a.push_back(b.submit(of("a", 1)));
  for (int i = 0; i < 8; ++i) c.push_back(b.submit(of("c", 1, 3)));
  b.finish(b.first);
  EXPECT_EQ(b.running_of(a), 2u);
  EXPECT_EQ(b.running_of(c), 6u);
}

TEST(program_shares, include_running_ranks) {
  full b(4);
  auto const held = b.submit(of("a", 3));
  b.finish(b.first);
  ASSERT_TRUE(b.runs(held));
  auto const other = b.submit(of("x", 1));  // uses the last GPU
  ASSERT_TRUE(b.runs(other));
  auto const more = b.submit(of("a", 1)), c = b.submit(of("c", 1));
  b.finish(other);
  EXPECT_TRUE(b.runs(c)) << "it was submitted later";
  EXPECT_FALSE(b.runs(more));
}

TEST(program_shares, apply_after_priority_and_submission_order) {
  full b(1);
  auto const low = b.submit(of("c", 1, 100));
  auto spec = of("a", 1);
  spec.priority = 1;
  auto const high = b.submit(spec), second = b.submit(spec);
  b.finish(b.first);
  EXPECT_TRUE(b.runs(high));
  b.finish(high);
  EXPECT_TRUE(b.runs(second));
  b.finish(second);
  EXPECT_TRUE(b.runs(low));
}

// The other submitter's programs end before the next placement, so it uses less then.
TEST(program_shares, no_submitter_starves) {
  full b(4);
  auto const held = b.submit(of("a", 3));
  b.finish(b.first);
  ASSERT_TRUE(b.runs(held));
  auto passing = b.submit(of("c", 1));
  auto const more = b.submit(of("a", 1));
  b.run_all(held);
  int passed = 0;
  for (; !b.runs(more) && passed < 20; ++passed) {
    auto const next = b.submit(of("c", 1));
    b.advance_in_touch(10min);
    b.finish(passing);
    passing = next;
  }
  EXPECT_GE(passed, 5);
  EXPECT_LE(passed, 7) << "an hour";
}

}  // namespace
}  // namespace muster::core::programs
