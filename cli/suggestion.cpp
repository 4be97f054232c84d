// Uses the optimal string alignment distance. Also suggests commands by their names in other
// programs.
#include "cli/suggestion.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <utility>

namespace muster::cli {
namespace {

std::size_t edits(std::string const& a, std::string const& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

std::map<std::string, char const*> const& other_names() {
  static std::map<std::string, char const*> const all = {
      {"status", "'muster jobs', 'muster tasks' or 'muster doctor'"},
      {"ps", "'muster tasks' or 'muster jobs'"},
      {"ls", "'muster jobs'"},
      {"list", "'muster jobs' or 'muster tasks'"},
      {"info", "'muster version' or 'muster doctor'"},
      {"workers", "'muster tasks'"},
      {"nodes", "'muster tasks'"},
      {"start", "'muster serve', then 'muster worker'"},
      {"server", "'muster serve'"},
      {"variables", "'muster objects'"},
      {"sessions", "'muster jobs'"},
      {"closures", "'muster jobs JOB', then 'muster explain CLOSURE'"},
      {"log", "'muster logs'"},
      {"config", "'muster serve --print-config'"},
      {"result", "'muster fetch JOB'"},
      {"results", "'muster fetch JOB'"},
      {"wait", "'muster fetch JOB'"},
      {"kill", "'muster cancel JOB'"},
      {"stop", "'muster cancel JOB'; SIGTERM stops a server or a worker"},
      {"exec", "'muster submit muster.exec', or 'muster run'"},
      {"torchrun", "'muster run'"}};
  return all;
}

std::string or_joined(std::vector<std::string> const& names) {
  std::string text;
  for (auto const& n : names) text += (text.empty() ? "" : " or ") + n;
  return text;
}

std::vector<std::string> flags_of(CLI::App const& verb) {
  std::vector<std::string> known;
  for (auto const* o : verb.get_options())
    for (auto const& name : o->get_lnames()) known.push_back("--" + name);
  return known;
}

}  // namespace

std::vector<std::string> similar(std::string const& word, std::vector<std::string> const& known) {
  std::size_t const most = word.size() < 4 ? 1 : 2;
  std::vector<std::pair<std::size_t, std::string>> near;
  for (auto const& k : known) {
    if (auto const d = edits(word, k); d <= most && d < k.size()) near.emplace_back(d, k);
    if (word.size() > 2 && k.size() > word.size() + most && k.starts_with(word))
      near.emplace_back(most, k);
  }
  std::sort(near.begin(), near.end());
  constexpr std::size_t shown = 3;
  std::vector<std::string> all;
  for (auto const& [d, k] : near)
    if (d == near.front().first && all.size() < shown) all.push_back(k);
  return all;
}

std::string or_similar(std::string const& word, std::vector<std::string> const& known,
                       std::string const& hint) {
  auto const near = similar(word, known);
  if (!near.empty()) return "; did you mean " + or_joined(near) + "?";
  return hint.empty() ? std::string() : "; " + hint;
}

bool is_like_a_flag(CLI::App const& verb, std::string const& flag) {
  return !similar(flag, flags_of(verb)).empty();
}

command_error unknown_flag(CLI::App const& verb, std::string const& word, std::string const& hint) {
  auto const flag = word.substr(0, word.find('='));
  return {exit_usage, "unknown flag " + flag + or_similar(flag, flags_of(verb), hint)};
}

command_error unknown_verb(CLI::App const& parent, std::string const& word) {
  std::vector<std::string> known;
  for (auto const* v : parent.get_subcommands([](CLI::App const*) { return true; }))
    if (!v->get_group().empty()) known.push_back(v->get_name());
  auto const other = other_names().find(word);
  auto const what = "there is no command '" + word + "'";
  return {exit_usage, what + (other != other_names().end() ? std::string("; see ") + other->second
                                                           : or_similar(word, known))};
}

command_error unexpected_arguments(CLI::App const& program, CLI::App const& verb) {
  auto const before = program.remaining();
  auto const words = before.empty() ? verb.remaining() : before;
  auto const word = words.empty() ? std::string() : words.front();
  if (word.starts_with('-'))
    return unknown_flag(
        before.empty() ? verb : program, word,
        before.empty() ? "" : "write flags after the command: muster COMMAND " + word);
  if (!before.empty()) return unknown_verb(program, word);
  return {exit_usage, "unexpected argument '" + word + "'"};
}

std::vector<std::string> process_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (!words.empty()) words.erase(words.begin());
  return words;
}

std::string same_command(std::string const& verb, std::string const& other,
                         std::string const& flags) {
  auto const quoted = [](std::string const& word) {
    bool const plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) ||
             std::string_view("_./=:,@%+-").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (plain) return word;
    std::string text = "'";
    for (char const c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
    return text + "'";
  };
  std::string line = "muster";
  bool replaced = false;
  for (auto const& word : process_arguments()) {
    bool const here = !replaced && word == verb;
    line += " " + (here ? other : quoted(word));
    if (here && !flags.empty()) line += " " + flags;
    replaced = replaced || here;
  }
  return line;
}

}  // namespace muster::cli
