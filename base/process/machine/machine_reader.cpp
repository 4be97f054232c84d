#include "base/process/machine/machine_reader.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/process/machine/small_file.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"

namespace muster {
namespace {

constexpr std::size_t processes_max = 32'768;

double as_double(std::uint64_t n) {
  return static_cast<double>(n);
}

// Returns true for devices in memory, devices built on other devices, and optical or floppy drives.
bool is_virtual(std::string_view disk) {
  for (std::string_view const prefix : {"loop", "ram", "zram", "dm-", "md", "sr", "fd"})
    if (disk.starts_with(prefix)) return true;
  return false;
}

std::vector<std::string> whole_disks(std::string const& directory) {
  std::vector<std::string> found;
  std::error_code wrong;
  for (std::filesystem::directory_iterator it(directory, wrong), end; !wrong && it != end;
       it.increment(wrong))
    if (auto name = it->path().filename().string(); !is_virtual(name)) found.push_back(name);
  return found;
}

// Returns true for all CPUs if the set cannot be read because the kernel has more CPUs.
bool may_run_on(std::uint64_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof set, &set) != 0) return true;
  return CPU_ISSET(cpu, &set);
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? to_utf8(name) : "";
}

void add(std::optional<double>& to, double n) {
  to = to.value_or(0) + n;
}

std::optional<double> in_a_second(std::optional<double> now, std::optional<double> before,
                                  double seconds) {
  // A smaller value means that a device was removed, or that the measured group has changed.
  if (!now || !before || seconds <= 0 || *now < *before) return {};
  return (*now - *before) / seconds;
}

}  // namespace

machine_reader::machine_reader(std::string root, char const* library)
    : root_(std::move(root)),
      group_(root_),
      gpus_(library),
      disks_(whole_disks(root_ + "/sys/block")) {}

machine machine_reader::read(clock::time_point now) {
  machine m;
  totals t;
  t.at = now;
  m.host = host_name();
  read_cpu(m, t);
  read_memory(m);
  read_network(t);
  read_disks(t);
  if (before_) {
    auto const& b = *before_;
    auto const seconds = std::chrono::duration<double>(t.at - b.at).count();
    m.cpu = in_a_second(t.cpu, b.cpu, seconds);
    m.received = in_a_second(t.received, b.received, seconds);
    m.sent = in_a_second(t.sent, b.sent, seconds);
    m.read = in_a_second(t.read, b.read, seconds);
    m.written = in_a_second(t.written, b.written, seconds);
  }
  before_ = t;
  m.gpus = gpus_.look();
  if (memory_part(m) >= machine::memory_short) m.memory_users = largest();
  return m;
}

void machine_reader::read_cpu(machine& m, totals& t) const {
  auto const text = read_small_file(root_ + "/proc/stat");
  auto const a_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  double cpus = 0;
  std::optional<double> busy;
  each_line(text, [&](std::string_view line) {  // cpu3 user nice system idle iowait irq softirq
    if (!line.starts_with("cpu")) return;
    auto const word = next_field(line);
    auto const number = parse_number(word.substr(3));
    if (!number || !may_run_on(*number)) return;
    cpus += 1;
    for (int column = 0; column < 8; ++column) {
      auto const n = leading_number(next_field(line));
      if (n && column != 3 && column != 4) add(busy, as_double(*n) / a_second);
    }
  });
  if (cpus > 0) m.cpus = cpus;
  t.cpu = busy;
  auto const limit = group_.cpu_limit();
  if (!limit || (m.cpus && *limit >= *m.cpus)) return;
  m.cpus = limit;
  t.cpu = group_.cpu_seconds();
}

void machine_reader::read_memory(machine& m) const {
  auto const text = read_small_file(root_ + "/proc/meminfo");
  auto const total = number_after(text, "MemTotal:"), left = number_after(text, "MemAvailable:");
  if (total) m.memory_total = *total << 10;
  if (total && left) m.memory = (*total - std::min(*total, *left)) << 10;
  auto const limit = group_.memory_limit();
  if (!limit || (m.memory_total && *limit >= *m.memory_total)) return;
  m.memory_total = limit;
  m.memory = group_.memory();
}

void machine_reader::read_network(totals& t) const {
  auto const text = read_small_file(root_ + "/proc/net/dev");
  each_line(text, [&t](std::string_view line) {  // eth0: bytes packets … (8), bytes …
    auto const colon = line.find(':');
    if (colon == std::string_view::npos) return;
    auto before = line.substr(0, colon), rest = line.substr(colon + 1);
    if (next_field(before) == "lo") return;
    for (int column = 0; column < 9; ++column) {
      auto const n = leading_number(next_field(rest));
      if (n && column == 0) add(t.received, as_double(*n));
      if (n && column == 8) add(t.sent, as_double(*n));
    }
  });
}

void machine_reader::read_disks(totals& t) const {
  constexpr double sector = 512;  // independent of the disk's sector size
  auto const text = disks_.empty() ? std::string() : read_small_file(root_ + "/proc/diskstats");
  each_line(text,
            [&](std::string_view line) {  // 8 0 sda reads merged sectors ms writes merged sectors
              next_field(line), next_field(line);
              if (std::find(disks_.begin(), disks_.end(), next_field(line)) == disks_.end()) return;
              for (int column = 0; column < 7; ++column) {
                auto const n = leading_number(next_field(line));
                if (n && column == 2) add(t.read, as_double(*n) * sector);
                if (n && column == 6) add(t.written, as_double(*n) * sector);
              }
            });
}

std::vector<machine::memory_user> machine_reader::largest() const {
  struct seen {
    std::uint32_t parent = 0;
    machine::memory_user what;
  };
  std::map<std::uint32_t, seen> all;
  std::error_code wrong;
  auto const page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (std::filesystem::directory_iterator it(root_ + "/proc", wrong), end;
       !wrong && it != end && all.size() < processes_max; it.increment(wrong)) {
    auto const pid = parse_number(it->path().filename().string());
    if (!pid) continue;
    auto const text = read_small_file(it->path().string() + "/stat");  // 7 (name) S parent …
    auto const begin = text.find('('), close = text.rfind(')');
    if (begin == std::string::npos || close == std::string::npos) continue;
    std::string_view rest = std::string_view(text).substr(close + 1);
    next_field(rest);
    auto const parent = leading_number(next_field(rest));
    for (int column = 4; column < 23; ++column) next_field(rest);
    auto const pages = leading_number(next_field(rest));
    auto const number = static_cast<std::uint32_t>(*pid);
    all[number] = {
        static_cast<std::uint32_t>(parent.value_or(0)),
        {number, to_utf8(text.substr(begin + 1, close - begin - 1)), pages.value_or(0) * page}};
  }
  auto const self = static_cast<std::uint32_t>(getpid());
  auto const is_ours = [&](std::uint32_t pid) {
    for (int depth = 0; depth < 64 && pid != 0; ++depth) {
      if (pid == self) return true;
      auto const at = all.find(pid);
      pid = at == all.end() ? 0 : at->second.parent;
    }
    return false;
  };
  std::vector<machine::memory_user> ours;
  for (auto& [pid, one] : all)
    if (is_ours(pid)) ours.push_back(one.what);
  std::sort(ours.begin(), ours.end(),
            [](auto const& a, auto const& b) { return a.bytes > b.bytes; });
  if (ours.size() > machine::memory_users_max) ours.resize(machine::memory_users_max);
  return ours;
}

}  // namespace muster
