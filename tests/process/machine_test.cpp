#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "base/process/machine/machine_reader.hpp"
#include "base/process/machine/machine_watch.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
constexpr char const* no_driver = "libnone.so.0";

// A fake /proc and /sys.
struct machine_test : testing::Test {
  machine_test() {
    char name[] = "/tmp/muster-machine-XXXXXX";
    root = mkdtemp(name);
    std::filesystem::create_directories(root + "/sys/block/sda");
    std::filesystem::create_directories(root + "/sys/block/loop0");
    write("/proc/stat", "cpu  1 1 1 1\ncpu0 100 0 100 700 100 0 0 0 0 0\nctxt 5\n");
    write("/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable:  400 kB\n");
  }
  ~machine_test() override { std::filesystem::remove_all(root); }

  void write(std::string const& path, std::string const& text) const {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  machine read() const { return machine_reader(root, no_driver).read(); }

  std::string root;
};

TEST_F(machine_test, host_without_limits_has_its_own_totals) {
  auto const m = read();
  EXPECT_EQ(m.memory_total, 1000u << 10);
  EXPECT_EQ(m.memory, 600u << 10);
  EXPECT_EQ(m.cpus, 1);
  EXPECT_FALSE(m.cpu) << "there is no previous reading";
  EXPECT_TRUE(m.gpus.empty());
  EXPECT_TRUE(m.memory_users.empty());
}

TEST_F(machine_test, rates_are_averages_since_the_last_reading) {
  auto const at = machine_reader::clock::now();
  write("/proc/net/dev", "x\n    lo: 9 0 0 0 0 0 0 0 9 0\n  eth0:100 0 0 0 0 0 0 0 200 0\n");
  write("/proc/diskstats",
        " 7 0 loop0 1 1 99 1 1 1 99\n 8 0 sda 1 1 10 1 1 1 20\n 8 1 sda1 1 1 9 1 1 1 9\n");
  machine_reader reader(root, no_driver);
  reader.read(at);
  auto const a_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  write("/proc/stat", "cpu0 " + std::to_string(100 + a_second) + " 0 100 900 100 0 0 0 0 0\n");
  write("/proc/net/dev", "    lo: 99 0 0 0 0 0 0 0 99 0\n  eth0: 300 0 0 0 0 0 0 0 600 0\n");
  write("/proc/diskstats", " 8 0 sda 1 1 14 1 1 1 28\n");
  auto const m = reader.read(at + 2s);
  EXPECT_EQ(m.cpu, 0.5);
  EXPECT_EQ(m.received, 100);
  EXPECT_EQ(m.sent, 200);
  EXPECT_EQ(m.read, 4 * 512 / 2);
  EXPECT_EQ(m.written, 8 * 512 / 2);
  write("/proc/net/dev", "  eth1: 1 0 0 0 0 0 0 0 1 0\n");
  EXPECT_FALSE(reader.read(at + 4s).received) << "a device was removed";
}

TEST_F(machine_test, control_groups_of_version_2_set_the_limits) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  write("/sys/fs/cgroup/a/memory.max", "409600\n");
  write("/sys/fs/cgroup/a/memory.current", "307200\n");
  write("/sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 102400\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  write("/sys/fs/cgroup/a/b/cpu.stat", "usage_usec 1000000\n");
  machine_reader reader(root, no_driver);
  auto const at = machine_reader::clock::now();
  auto const before = reader.read(at);
  EXPECT_EQ(before.memory_total, 409600u);
  EXPECT_EQ(before.memory, 204800u);
  EXPECT_EQ(before.cpus, 0.5);
  write("/sys/fs/cgroup/a/b/cpu.stat", "usage_usec 1250000\n");
  EXPECT_EQ(reader.read(at + 1s).cpu, 0.25);
}

TEST_F(machine_test, control_groups_of_version_1_set_the_limits) {
  write("/proc/self/cgroup", "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "409600\n");  // as seen in the container
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "307200\n");
  write("/sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 107200\n");
  write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n");
  auto const m = read();
  EXPECT_EQ(m.memory_total, 409600u);
  EXPECT_EQ(m.memory, 200000u);
  EXPECT_EQ(m.cpus, 1);
}

TEST_F(machine_test, unlimited_control_groups_are_ignored) {
  write("/proc/self/cgroup", "5:memory:/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(read().memory_total, 1000u << 10);
}

TEST_F(machine_test, largest_memory_users_are_listed) {
  write("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 50 kB\n");
  auto const process = [&](int pid, std::string const& name, int parent, int pages) {
    std::string text = std::to_string(pid) + " (" + name + ") S " + std::to_string(parent);
    for (int column = 4; column < 23; ++column) text += " 0";
    write("/proc/" + std::to_string(pid) + "/stat", text + " " + std::to_string(pages) + " 0\n");
  };
  process(getpid(), "worker", 1, 10);
  process(900'001, "python (x) y", getpid(), 90);
  process(900'002, "loader", 900'001, 50);
  process(900'003, "loader", 900'001, 5);
  process(900'004, "another's", 1, 5'000);
  auto const users = read().memory_users;
  ASSERT_EQ(users.size(), machine::memory_users_max);
  EXPECT_EQ(users[0].name, "python (x) y");
  EXPECT_EQ(users[0].bytes, 90u * static_cast<unsigned>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(users[1].pid, 900'002u);
  EXPECT_EQ(users[2].name, "worker");
}

TEST_F(machine_test, unreadable_machine_has_no_measurements) {
  auto const m = machine_reader(root + "/none", no_driver).read();
  EXPECT_FALSE(m.memory || m.memory_total || m.cpu || m.cpus || m.sent || m.read);
}

TEST_F(machine_test, gpus_are_measured) {
  auto const m = machine_reader(root, MUSTER_FAKE_NVML).read();
  ASSERT_EQ(m.gpus.size(), 2u);
  EXPECT_EQ(m.gpus[0].name, "Fake H100");
  EXPECT_EQ(m.gpus[0].busy, 0.75);
  EXPECT_EQ(m.gpus[0].memory, std::uint64_t{20} << 30);
  EXPECT_EQ(m.gpus[0].memory_total, std::uint64_t{80} << 30);
  EXPECT_FALSE(m.gpus[1].busy);
}

TEST(machine_watch, measures_this_machine) {
  std::promise<machine> told;
  machine_watch const watch([&, first = true](machine m) mutable {
    if (std::exchange(first, false)) told.set_value(std::move(m));
  });
  auto const m = told.get_future().get();
  EXPECT_GT(m.memory_total.value_or(0), 0u);
  EXPECT_GT(m.cpus.value_or(0), 0);
  EXPECT_TRUE(m.cpu);
}

TEST(machine_watch, uses_at_most_a_thousandth_of_a_core) {
  machine_reader reader;
  reader.read();
  auto const used = [] {
    rusage u{};
    getrusage(RUSAGE_THREAD, &u);
    auto const us = [](timeval t) { return t.tv_sec * 1'000'000 + t.tv_usec; };
    return us(u.ru_utime) + us(u.ru_stime);
  };
  constexpr int readings = 100;
  auto const before = used();
  for (int i = 0; i < readings; ++i) reader.read();
  auto const each = (used() - before) / readings;
  RecordProperty("us_a_reading", static_cast<int>(each));
  std::printf("%ld us a reading\n", static_cast<long>(each));
  EXPECT_LT(each, 5'000) << "of 5 s";
}

}  // namespace
}  // namespace muster
