#include "cli/programs/stacks.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "cli/table.hpp"

namespace muster::cli {
namespace {

constexpr std::pair<std::string_view, char const*> sentences[] = {
    {"NOT_PYTHON",
     "no Python process of the rank has registered (another language, or python with -S, -I or "
     "-E), and its worker lacks the permission or libdw to read its stack from outside"},
    {"STOPPED", "stopped by a signal or a debugger"},
    {"IN_KERNEL", "in a system call that cannot be interrupted"},
    {"NO_ANSWER", "no answer within a second: its signal is blocked, or its worker is older"},
    {"OFF", "its worker runs with --stack-signal off"},
    {"AWAY", "its worker is disconnected; try again"},
    {"BUSY", "its worker is already serving two requests; try again"},
    {"UNKNOWN", "the rank has exited"}};

std::string in_ranges(std::set<std::uint64_t> const& numbers) {
  std::string said;
  for (auto it = numbers.begin(); it != numbers.end();) {
    auto const first = *it;
    auto last = first;
    while (++it != numbers.end() && *it == last + 1) ++last;
    said += (said.empty() ? "" : ",") + std::to_string(first);
    if (last > first) said += "-" + std::to_string(last);
  }
  return said;
}

// Returns "ranks 0-1,3 on host-a; rank 8 on host-b", with at most `named_max` hosts.
std::string ranks_in_short(json::array const& ranks) {
  constexpr std::size_t named_max = 6;
  std::map<std::string, std::set<std::uint64_t>> of;
  for (auto const& r : ranks) of[text_of(r, "host")].insert(count_of(r, "rank"));
  std::string said;
  std::size_t named = 0;
  for (auto const& [host, numbers] : of) {
    if (named++ == named_max)
      return said + "; and more on " + std::to_string(of.size() - named_max) + " other hosts";
    said += said.empty() ? "" : "; ";
    said += (numbers.size() == 1 ? "rank " : "ranks ") + in_ranges(numbers);
    if (!host.empty()) said += " on " + for_terminal(host);
  }
  return said;
}

}  // namespace

std::string why_no_stack(std::string const& state) {
  for (auto const& [name, words] : sentences)
    if (name == state) return words;
  return state;
}

bool is_whole(std::string const& state) {
  return state == "TAKEN" || state == "NATIVE";
}

std::string stacks_text(json::value const& answer) {
  auto const& groups = list_of(answer, "groups");
  return groups.empty() ? "no rank is alive\n" : groups_text(groups);
}

std::string groups_text(json::array const& groups) {
  std::size_t all = 0;
  for (auto const& g : groups) all += list_of(g, "ranks").size();
  std::string said;
  for (auto const& g : groups) {
    auto const& ranks = list_of(g, "ranks");
    if (!said.empty()) said += '\n';
    said += std::to_string(ranks.size()) + " of " + std::to_string(all) +
            (all == 1 ? " rank: " : " ranks: ") + ranks_in_short(ranks) + '\n';
    auto const process = ranks.empty() ? std::string() : text_of(ranks.front(), "process");
    auto const state = text_of(g, "state");
    if (!is_whole(state))
      said += "  " + why_no_stack(state) +
              (process.empty() ? "" : " (" + for_terminal(process) + ")") + '\n';
    std::istringstream lines(text_of(g, "stack"));
    for (std::string line; std::getline(lines, line);) said += "  " + for_terminal(line) + '\n';
  }
  return said;
}

}  // namespace muster::cli
