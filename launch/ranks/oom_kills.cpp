#include "launch/ranks/oom_kills.hpp"

#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace muster::launch {
namespace {

namespace fs = std::filesystem;

std::string text_of(fs::path const& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::optional<std::uint64_t> number_in(fs::path const& file) {
  std::istringstream lines(text_of(file));
  std::string name;
  for (std::uint64_t n = 0; lines >> name >> n;)
    if (name == "oom_kill") return n;
  return {};
}

std::uint64_t number_of(fs::path const& tree, std::string const& group, char const* file) {
  auto const below = group.substr(group.find_first_not_of('/') == std::string::npos
                                      ? group.size()
                                      : group.find_first_not_of('/'));
  if (auto const n = number_in(tree / below / file)) return *n;
  return number_in(tree / file).value_or(0);
}

bool names_memory(std::string const& controllers) {
  return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

}  // namespace

std::uint64_t oom_kills_of(std::string const& groups, fs::path const& root) {
  std::uint64_t sum = 0;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    auto const controllers = line.substr(first + 1, second - first - 1);
    auto const group = line.substr(second + 1);
    if (names_memory(controllers))
      sum += number_of(root / "memory", group, "memory.oom_control");
    else if (controllers.empty())
      sum += number_of(fs::is_directory(root / "unified") ? root / "unified" : root, group,
                       "memory.events");
  }
  return sum;
}

std::uint64_t oom_kills() {
  return oom_kills_of(text_of("/proc/self/cgroup"), "/sys/fs/cgroup");
}

}  // namespace muster::launch
