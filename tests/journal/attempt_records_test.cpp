// A bad record does not keep a server from starting.
#include <gtest/gtest.h>

#include "server/journal/fact_encoding.hpp"
#include "tests/journal/memory_store.hpp"

namespace muster::server::journal {
namespace attempt_record_cases {

using namespace core;
using namespace std::chrono_literals;

constexpr time_point at{std::chrono::seconds(1'700'000'000)};

attempt_record some_record() {
  attempt_record r;
  r.events = {{at, attempt_event::progress_resumed, "worker:3", "\xff"}};
  r.barriers = {{"b", 2, at + 1s, 4, "worker:1", "host-b", 5ms, 7ms, {{0, 0}, {3, 7'000}}}};
  r.latecomers = {{"worker:1", "host-b", 2, 3, 4ms, 5ms}};
  r.stacks = {{stack_state::in_kernel, "line 4", "D", {1, 3}}};
  r.ranks = {{2,
              "worker:2",
              "host-c",
              at,
              1,
              9,
              "no such file",
              true,
              true,
              true,
              {"e\xfe"},
              {"o", "p"},
              at - 1s}};
  r.events_left_out = 1;
  r.stacks_left_out = 2;
  r.ranks_left_out = 3;
  return r;
}

struct attempt_records : testing::Test {
  memory_store disk;
  void write(std::uint64_t program, std::uint32_t attempt, attempt_record const* r) {
    std::vector<change> batch;
    encode(program_id{program}, attempt, r, batch);
    EXPECT_TRUE(disk.write(batch).ok());
  }
};

TEST_F(attempt_records, are_restored_with_every_field) {
  auto const r = some_record();
  write(7, 2, &r);
  write(8, 1, &r);
  write(8, 1, nullptr);
  auto const all = load_records(disk);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->front().program, program_id{7});
  EXPECT_EQ(all->front().attempt, 2u);
  EXPECT_EQ(all->front().what, r);
}

TEST_F(attempt_records, are_removed_with_their_attempt_and_their_program) {
  auto const r = some_record();
  for (std::uint32_t attempt : {1u, 2u}) write(7, attempt, &r);
  std::vector<change> batch;
  encode("", std::vector<programs::fact>{programs::attempt_removed{program_id{7}, 1}}, batch);
  ASSERT_TRUE(disk.write(batch).ok());
  EXPECT_EQ(load_records(disk)->size(), 1u);
  batch.clear();
  encode("", std::vector<programs::fact>{programs::program_removed{program_id{7}}}, batch);
  ASSERT_TRUE(disk.write(batch).ok());
  EXPECT_TRUE(load_records(disk)->empty());
}

TEST_F(attempt_records, unreadable_entries_are_skipped) {
  auto const r = some_record();
  write(7, 1, &r);
  ASSERT_TRUE(disk.write({{change::kind::put, std::string("x\0zz", 4), "\xff\xff\xff"}}).ok());
  EXPECT_EQ(load_records(disk)->size(), 1u);
}

}  // namespace attempt_record_cases
}  // namespace muster::server::journal
