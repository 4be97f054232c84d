#include "client/programs/vitals.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>

#include "client/programs/processes.hpp"

namespace muster {
namespace {

// Returns nullopt without permission, and 0 for a process that has exited.
std::optional<std::uint64_t> read_io(std::string const& path) {
  errno = 0;
  std::ifstream in(path);
  std::uint64_t sum = 0, n = 0;
  std::string name;
  for (int i = 0; i < 2 && in >> name >> n; ++i) sum += n;  // rchar, wchar
  if (name.empty() && (errno == EACCES || errno == EPERM)) return {};
  return sum;
}

std::uint64_t read_wakeups(std::string const& path) {
  constexpr std::string_view name = "voluntary_ctxt_switches:";
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size(), nullptr, 10);
  return 0;
}

}  // namespace

std::map<std::uint32_t, vitals> vitals_of(std::map<std::uint32_t, pid_t> const& pids,
                                          std::string const& proc) {
  std::map<std::uint32_t, vitals> found;
  if (pids.empty()) return found;
  std::map<pid_t, std::uint32_t> rank_by_pid;
  for (auto const& [rank, pid] : pids) rank_by_pid.emplace(pid, rank);
  auto const all = all_processes(proc);
  for (auto const& [rank, pid] : pids)
    if (auto const it = all.find(pid); it != all.end()) {
      found[rank].state = it->second.state;
      found[rank].wakeups = read_wakeups(proc + "/" + std::to_string(pid) + "/status");
    }
  std::set<std::uint32_t> unseen;
  static auto const ticks_a_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  for (auto const& [first, about] : all) {
    auto const owner = rank_of(first, rank_by_pid, all);
    auto const of = owner ? found.find(*owner) : found.end();
    if (of == found.end()) continue;
    auto& v = of->second;
    bool const stands = about.state == 'T' || about.state == 't';
    if (stands || (about.state == 'D' && v.state != 'T')) v.state = stands ? 'T' : 'D';
    v.cpu_ms += about.ticks * 1000 / ticks_a_second;
    v.faults += about.faults;
    auto const io = read_io(proc + "/" + std::to_string(first) + "/io");
    if (!io) unseen.insert(*owner);
    v.io_bytes += io.value_or(0);
  }
  for (auto const rank : unseen) found.erase(rank);
  return found;
}

}  // namespace muster
