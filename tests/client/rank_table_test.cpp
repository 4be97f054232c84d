#include "client/programs/rank_table.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "client/programs/devices.hpp"
#include "client/programs/lease.hpp"
#include "client/programs/spool.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::test {
namespace {

using namespace std::chrono_literals;
using texts = std::vector<std::string>;

v1::RankEnded with_status(std::uint32_t status) {
  v1::RankEnded e;
  e.set_exit_status(status);
  return e;
}

v1::RankReports told(rank_table& t) {
  v1::RankReports m;
  t.report(m, 1 << 20);
  return m;
}

TEST(rank_table, start_and_end_are_reported_once_per_stream_until_forgotten) {
  rank_table t;
  rank_key const key{7, 1, 3};
  t.add(key, 1);
  EXPECT_FALSE(t.reports());
  t.started(key, 4711);
  EXPECT_EQ(told(t).started(0).pid(), 4711u);
  t.forget(key);
  ASSERT_TRUE(t.find(key)) << "the rank is alive";
  t.ended(key, with_status(3));
  t.ended(key, with_status(4));
  auto const m = told(t);
  ASSERT_EQ(m.ended_size(), 1);
  EXPECT_EQ(m.started_size(), 0);
  EXPECT_EQ(m.ended(0).exit_status(), 3u);
  EXPECT_EQ(key_of(m.ended(0).name()), key);
  EXPECT_FALSE(t.reports());
  t.report_again(key);
  EXPECT_EQ(told(t).ended_size(), 1);
  t.forget(key);
  EXPECT_FALSE(t.find(key));
}

TEST(rank_table, ranks_of_a_killed_launcher_count_as_failed) {
  rank_table t;
  for (std::uint32_t rank = 0; rank < 3; ++rank) t.add({7, 1, rank}, 1);
  v1::RankEnded stopped;
  stopped.set_signal(9);
  stopped.set_stopped(true);
  t.ended({7, 1, 0}, stopped);
  google::protobuf::RepeatedField<std::uint32_t> named;
  named.Add(1);
  t.asked_to_end(1, named);
  t.ended({7, 1, 1}, stopped);
  stopped.set_lease_ran_out(true);
  t.ended({7, 1, 2}, stopped);
  auto const m = told(t);
  ASSERT_EQ(m.ended_size(), 3);
  EXPECT_FALSE(m.ended(0).stopped());
  EXPECT_EQ(m.ended(0).stderr(0), "another process terminated the launcher");
  EXPECT_TRUE(m.ended(1).stopped()) << "the worker requested the stop";
  EXPECT_TRUE(m.ended(2).stopped()) << "stopped by the launcher at the end of the lease";
}

TEST(rank_table, offers_all_its_ranks_and_keeps_those_the_server_keeps) {
  rank_table t;
  for (std::uint32_t rank = 0; rank < 4; ++rank) t.add({7, 1, rank}, 1);
  t.started({7, 1, 0}, 10);
  t.ended({7, 1, 3}, with_status(1));
  v1::ProgramsOffer offer;
  t.offer(offer);
  ASSERT_EQ(offer.held_size(), 4);
  EXPECT_EQ(offer.held(0).pid(), 10u);
  EXPECT_TRUE(offer.held(3).has_ended());
  EXPECT_FALSE(t.reports()) << "already sent in the hello";
  t.ended({7, 1, 2}, with_status(9));  // before the answer arrives
  v1::ProgramsWelcome answer;
  answer.add_kept(0);
  auto const unwanted = t.settle(answer);
  ASSERT_EQ(unwanted.size(), 1u);
  EXPECT_EQ(unwanted[0], (rank_key{7, 1, 1}));
  EXPECT_FALSE(t.find({7, 1, 3})) << "its end is taken";
  EXPECT_EQ(told(t).ended(0).name().rank(), 2u);
  EXPECT_FALSE(t.settled());
}

TEST(rank_table, received_end_is_remembered_until_it_is_durable) {
  rank_table t;
  t.add({7, 1, 0}, 1);
  t.ended({7, 1, 0}, with_status(3));
  v1::ProgramsOffer offer;
  t.offer(offer);
  v1::ProgramsWelcome answer;
  answer.add_kept(0);
  EXPECT_TRUE(t.settle(answer).empty());
  ASSERT_TRUE(t.find({7, 1, 0})) << "a server that dies now is told again";
  EXPECT_FALSE(t.reports()) << "already sent in the hello";
  t.forget({7, 1, 0});
  EXPECT_FALSE(t.find({7, 1, 0}));
}

TEST(rank_table, finds_the_launchers_of_an_attempt) {
  rank_table t;
  t.add({7, 1, 0}, 1);
  t.add({7, 1, 1}, 2);
  t.add({7, 2, 0}, 3);
  EXPECT_EQ(t.launchers_of(7, 1), (std::set<std::uint64_t>{1, 2}));
  t.ended({7, 1, 0}, with_status(0));
  EXPECT_EQ(t.launchers_of(7, 1), (std::set<std::uint64_t>{2}));
  EXPECT_EQ(t.alive_of(1).size(), 0u);
  EXPECT_EQ(t.launchers(), (std::set<std::uint64_t>{2, 3}));
}

TEST(rank_table, message_size_is_limited) {
  rank_table t;
  auto end = with_status(1);
  end.add_stderr(std::string(1000, 'x'));
  for (std::uint32_t rank = 0; rank < 10; ++rank) {
    t.add({7, 1, rank}, 1);
    t.ended({7, 1, rank}, end);
  }
  v1::RankReports m;
  t.report(m, 3000);
  EXPECT_EQ(m.ended_size(), 3);
  EXPECT_TRUE(t.reports());
}

TEST(lease, starts_when_the_acknowledged_message_was_sent) {
  lease l(10s);
  lease::clock::time_point const start{100s};
  l.greeted(start);
  EXPECT_TRUE(l.came_back(0));
  EXPECT_EQ(l.until(), start + 9s) << "a tenth before the lease ends";
  EXPECT_EQ(l.number(start + 1s), 0u) << "the hello was sent just before";
  auto const one = l.number(start + 1250ms);
  EXPECT_EQ(l.number(start + 2s), 0u) << "a message was sent just before";
  auto const two = l.number(start + 4s);
  EXPECT_GT(two, one);
  EXPECT_TRUE(l.came_back(one));
  EXPECT_EQ(l.until(), start + 10s + 250ms);
  EXPECT_FALSE(l.came_back(one));
  EXPECT_TRUE(l.came_back(two));
  EXPECT_EQ(l.number(start + 5s), 0u) << "even if the previous message was already acknowledged";
  EXPECT_EQ(l.until(), start + 13s);
  l.greeted(start + 8s);
  EXPECT_EQ(l.until(), start + 13s) << "an unanswered hello does not renew the lease";
}

TEST(devices, are_the_visible_devices_of_the_worker) {
  devices d(3, "4,7,GPU-abc,9");
  auto first = d.take(2);
  EXPECT_EQ(first, (texts{"4", "7"}));
  EXPECT_EQ(d.take(2), (texts{"GPU-abc"}));
  d.give_back(first);
  EXPECT_EQ(d.take(1), (texts{"4"}));
  EXPECT_EQ(devices(2, "").take(2), (texts{"0", "1"}));
}

TEST(spool, reads_output_from_an_offset_or_from_the_end) {
  spool s({});
  s.make({7, 1}, {});
  auto const d = s.directories_of(7, 1);
  std::ofstream(d.logs / "3.log") << "0123456789";
  auto const from = s.read(7, 1, 3, 4, false, 3);
  ASSERT_TRUE(from);
  EXPECT_EQ(from->data, "456");
  EXPECT_EQ(from->size, 10u);
  EXPECT_EQ(s.read(7, 1, 3, 2, true, 100)->data, "89");
  EXPECT_EQ(s.read(7, 1, 3, 20, false, 100)->data, "");
  EXPECT_FALSE(s.read(7, 1, 4, 0, false, 100));
}

// Ranks and their launcher have other working directories than the worker.
TEST(spool, relative_directory_is_made_absolute) {
  temporary_directory const directory;
  auto const before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  spool const s("mine");
  std::filesystem::current_path(before);
  EXPECT_EQ(s.directories_of(7, 1).work, directory / "mine/work/7.1");
}

TEST(spool, removes_the_oldest_attempts_that_are_not_in_use) {
  temporary_directory directory;
  spool s(directory / "mine");
  std::set<spool::attempt_name> const in_use{{1, 1}};
  for (std::uint32_t i = 1; i <= spool::attempts_max + 5; ++i) {
    s.make({1, i}, in_use);
    auto const age = std::chrono::hours(100 - i);
    std::filesystem::last_write_time(s.directories_of(1, i).logs,
                                     std::filesystem::file_time_type::clock::now() - age);
  }
  EXPECT_TRUE(std::filesystem::exists(s.directories_of(1, 1).work));
  EXPECT_FALSE(std::filesystem::exists(s.directories_of(1, 2).work));
  auto const last = spool::attempts_max + 5;
  EXPECT_TRUE(std::filesystem::exists(s.directories_of(1, last).work));
  EXPECT_FALSE(std::filesystem::exists(s.directories_of(1, last - spool::works_max).work))
      << "they may have a copy of an upload for each rank";
  EXPECT_TRUE(std::filesystem::exists(s.directories_of(1, last - spool::works_max).logs));
}

TEST(spool, given_directory_is_kept) {
  temporary_directory directory;
  { spool const s(directory / "mine"); }
  EXPECT_TRUE(std::filesystem::exists(directory / "mine"));
}

}  // namespace
}  // namespace muster::test
