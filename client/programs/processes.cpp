#include "client/programs/processes.hpp"

#include <dirent.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

namespace muster {

// Parses "4711 (a name) S 1 …". A name can contain spaces and parentheses.
std::optional<seen_process> look_at(pid_t pid, std::string const& proc) {
  std::ifstream in(proc + "/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(in, line)) return {};
  auto const behind = line.rfind(") ");
  if (behind == std::string::npos) return {};
  std::istringstream fields(line.substr(behind + 2));
  seen_process p;
  std::string skipped;
  fields >> p.state >> p.parent >> p.group;
  for (int i = 0; i < 4; ++i) fields >> skipped;  // session, tty_nr, tpgid, flags
  auto const four = [&fields](std::uint64_t& sum) {
    for (int i = 0; i < 4; ++i) {
      std::uint64_t n = 0;
      fields >> n;
      sum += n;
    }
  };
  four(p.faults);  // minflt cminflt majflt cmajflt; "c" means waited-for children
  four(p.ticks);   // utime stime cutime cstime
  return fields ? std::optional(p) : std::nullopt;
}

seen_processes all_processes(std::string const& proc) {
  seen_processes all;
  std::unique_ptr<DIR, int (*)(DIR*)> const dir(::opendir(proc.c_str()), ::closedir);
  if (!dir) return all;
  while (auto const* entry = ::readdir(dir.get())) {
    std::string_view const name = entry->d_name;
    pid_t pid = 0;
    if (std::from_chars(name.begin(), name.end(), pid).ptr != name.end() || pid <= 0) continue;
    if (all.size() == seen_processes_max) break;
    if (auto const p = look_at(pid, proc)) all.emplace(pid, *p);
  }
  return all;
}

std::optional<std::uint32_t> rank_of(pid_t pid, std::map<pid_t, std::uint32_t> const& ranks,
                                     seen_processes const& all) {
  constexpr int generations_max = 64;
  for (int i = 0; i < generations_max && pid > 1; ++i) {
    if (auto const it = ranks.find(pid); it != ranks.end()) return it->second;
    auto const p = all.find(pid);
    if (p == all.end()) return {};
    if (auto const it = ranks.find(p->second.group); it != ranks.end()) return it->second;
    pid = p->second.parent;
  }
  return {};
}

}  // namespace muster
