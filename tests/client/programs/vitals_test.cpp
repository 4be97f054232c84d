#include "client/programs/vitals.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_directory.hpp"

namespace muster {
namespace {

struct made_proc {
  void add(pid_t pid, pid_t parent, pid_t group, std::string const& name, char state, int faults,
           int ticks, int bytes) {
    auto const at = dir / std::to_string(pid);
    std::filesystem::create_directories(at);
    std::ofstream(at / "stat") << pid << " (" << name << ") " << state << ' ' << parent << ' '
                               << group << " 0 0 0 0 " << faults << " 1 0 0 " << ticks
                               << " 0 0 0 20 0 1 0 100\n";
    std::ofstream(at / "status") << "Name:\tx\nvoluntary_ctxt_switches:\t" << pid * 2
                                 << "\nnonvoluntary_ctxt_switches:\t7\n";
    std::ofstream(at / "io") << "rchar: " << bytes << "\nwchar: 5\nsyscr: 9\n";
  }
  test::temporary_directory dir;
};

TEST(vitals_of_ranks, include_all_descendant_processes) {
  made_proc p;
  p.add(10, 1, 10, "python) S 7 (", 'S', 100, 20, 1000);
  p.add(11, 10, 10, "loader", 'R', 10, 5, 100);
  p.add(12, 1, 10, "left by its parent", 'S', 1, 1, 10);
  p.add(13, 11, 13, "its own group", 'S', 1, 1, 10);
  p.add(20, 1, 20, "another rank", 'T', 7, 0, 1);
  p.add(21, 20, 20, "a child", 'D', 0, 0, 1);
  p.add(30, 1, 30, "nobody's", 'R', 1'000, 1'000, 1'000);
  std::filesystem::create_directories(p.dir / "sys");
  auto const all = vitals_of({{0, 10}, {4, 20}, {5, 99}}, p.dir.path());
  ASSERT_EQ(all.size(), 2u) << "process 99 does not exist";
  auto const& first = all.at(0);
  EXPECT_EQ(first.state, 'S');
  EXPECT_EQ(first.faults, 116u) << "reaped children are counted as well";
  EXPECT_EQ(first.cpu_ms, 27u * 1000 / static_cast<unsigned>(::sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(first.io_bytes, 1'140u);
  EXPECT_EQ(first.wakeups, 20u) << "its own";
  EXPECT_EQ(all.at(4).state, 'T');
  EXPECT_EQ(all.at(4).io_bytes, 12u);
}

TEST(vitals_of_ranks, are_read_from_the_kernel) {
  auto const all = vitals_of({{3, ::getpid()}});
  ASSERT_TRUE(all.contains(3));
  EXPECT_EQ(all.at(3).state, 'R');
  EXPECT_GT(all.at(3).faults, 0u);
  EXPECT_GT(all.at(3).io_bytes, 0u);
}

TEST(vitals_of_ranks, are_absent_for_missing_processes) {
  EXPECT_TRUE(vitals_of({}).empty());
  EXPECT_TRUE(vitals_of({{0, 1}}, "/not/there").empty());
}

}  // namespace
}  // namespace muster
