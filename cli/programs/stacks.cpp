#include "cli/programs/stacks.hpp"

#include <sstream>
#include <string_view>
#include <utility>

#include "cli/table.hpp"

namespace muster::cli {
namespace {

constexpr std::pair<std::string_view, char const*> sentences[] = {
    {"NOT_PYTHON", "no Python here has registered: another language, or python with -S, -I or -E"},
    {"STOPPED", "stopped by a signal or a debugger, so it answers nothing"},
    {"IN_KERNEL", "in a call of the kernel that cannot be interrupted"},
    {"NO_ANSWER", "no answer within a second: its signal is blocked, or its worker is older"},
    {"OFF", "its worker runs with --stack-signal off"},
    {"AWAY", "its worker is away; ask again"},
    {"BUSY", "its worker answers as many questions as it may; ask again"},
    {"UNKNOWN", "it has ended meanwhile"}};

std::string why_none(std::string const& state) {
  for (auto const& [name, words] : sentences)
    if (name == state) return words;
  return state;
}

// Of many ranks the first few.
std::string ranks_in_short(json::array const& ranks) {
  constexpr std::size_t named_max = 6;
  std::string names;
  for (std::size_t i = 0; i < ranks.size() && i < named_max; ++i) {
    auto const host = text_of(ranks[i], "host");
    names += (i == 0 ? "" : ", ") + for_terminal(text_of(ranks[i], "task")) +
             (host.empty() ? "" : " on " + for_terminal(host));
  }
  if (ranks.size() > named_max)
    names += " and " + std::to_string(ranks.size() - named_max) + " more";
  return names;
}

}  // namespace

std::string stacks_text(json::value const& answer) {
  auto const& groups = list_of(answer, "groups");
  if (groups.empty()) return "no rank is alive\n";
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
    if (state != "TAKEN")
      said += "  " + why_none(state) + (process.empty() ? "" : " (" + for_terminal(process) + ")") +
              '\n';
    std::istringstream lines(text_of(g, "stack"));
    for (std::string line; std::getline(lines, line);) said += "  " + for_terminal(line) + '\n';
  }
  return said;
}

}  // namespace muster::cli
