#include "client/programs/vitals.hpp"

#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <unordered_map>

namespace muster {
namespace {

struct process {
  pid_t parent = 0, group = 0;
  char state = 0;
  std::uint64_t ticks = 0, faults = 0;
};

// "4711 (a name) S 1 …": a name may have blanks and brackets in it.
std::optional<process> read_stat(std::string const& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) return {};
  auto const behind = line.rfind(") ");
  if (behind == std::string::npos) return {};
  std::istringstream fields(line.substr(behind + 2));
  process p;
  std::string skipped;
  fields >> p.state >> p.parent >> p.group;
  for (int i = 0; i < 4; ++i) fields >> skipped;  // session, tty, its group, flags
  for (int i = 0; i < 4;
       ++i) {  // minflt cminflt majflt cmajflt: c are children that were waited for
    std::uint64_t n = 0;
    fields >> n;
    p.faults += n;
  }
  for (int i = 0; i < 4; ++i) {  // utime stime cutime cstime
    std::uint64_t n = 0;
    fields >> n;
    p.ticks += n;
  }
  return fields ? std::optional(p) : std::nullopt;
}

// None: nobody may look. A process that has ended meanwhile has read and written nothing more.
std::optional<std::uint64_t> read_io(std::string const& path) {
  errno = 0;
  std::ifstream in(path);
  std::uint64_t sum = 0, n = 0;
  std::string name;
  for (int i = 0; i < 2 && in >> name >> n; ++i) sum += n;  // rchar, wchar
  if (name.empty() && (errno == EACCES || errno == EPERM)) return {};
  return sum;
}

// Of the first thread.
std::uint64_t read_wakeups(std::string const& path) {
  constexpr std::string_view name = "voluntary_ctxt_switches:";
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size(), nullptr, 10);
  return 0;
}

std::unordered_map<pid_t, process> all_processes(std::string const& proc) {
  std::unordered_map<pid_t, process> all;
  std::unique_ptr<DIR, int (*)(DIR*)> const dir(::opendir(proc.c_str()), ::closedir);
  if (!dir) return all;
  while (auto const* entry = ::readdir(dir.get())) {
    std::string_view const name = entry->d_name;
    pid_t pid = 0;
    if (std::from_chars(name.begin(), name.end(), pid).ptr != name.end() || pid <= 0) continue;
    if (all.size() == vitals_processes_max) break;
    if (auto const p = read_stat(proc + "/" + std::string(name) + "/stat")) all.emplace(pid, *p);
  }
  return all;
}

}  // namespace

std::map<std::uint32_t, vitals> vitals_of(std::map<std::uint32_t, pid_t> const& pids,
                                          std::string const& proc) {
  std::map<std::uint32_t, vitals> found;
  if (pids.empty()) return found;
  std::unordered_map<pid_t, std::uint32_t> rank_by_pid;
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
    constexpr int generations_max = 64;
    auto pid = first;
    auto owner = rank_by_pid.end();
    for (int i = 0; i < generations_max && pid > 1 && owner == rank_by_pid.end(); ++i) {
      owner = rank_by_pid.find(pid);
      auto const it = all.find(pid);
      if (it == all.end()) break;
      if (owner == rank_by_pid.end()) owner = rank_by_pid.find(it->second.group);
      pid = it->second.parent;
    }
    if (owner == rank_by_pid.end()) continue;
    auto const of = found.find(owner->second);
    if (of == found.end()) continue;
    auto& v = of->second;
    bool const stands = about.state == 'T' || about.state == 't';
    if (stands || (about.state == 'D' && v.state != 'T')) v.state = stands ? 'T' : 'D';
    v.cpu_ms += about.ticks * 1000 / ticks_a_second;
    v.faults += about.faults;
    auto const io = read_io(proc + "/" + std::to_string(first) + "/io");
    if (!io) unseen.insert(owner->second);
    v.io_bytes += io.value_or(0);
  }
  for (auto const rank : unseen) found.erase(rank);
  return found;
}

}  // namespace muster
