#include "cli/programs/program_lookup.hpp"

#include "base/rank_label.hpp"
#include "cli/table.hpp"
#include "cli/words/targets.hpp"

namespace muster::cli {

std::string path_of_program(rest& server, std::string const& name_or_id) {
  return find_target(server, name_or_id, {target::program}).path;
}

std::string rank_label_of(json::value const& rank, char const* number, char const* task) {
  auto const name = text_of(rank, task);
  if (field_of(rank, number).is_null()) return for_terminal(name);
  return for_terminal(rank_label(count_of(rank, number), name));
}

std::vector<std::string> losses_of(json::value const& program) {
  std::vector<std::string> all;
  for (auto const& l : list_of(program, "lost_workers"))
    all.push_back(for_terminal(text_of(l, "text")));
  return all;
}

json::array ranks_of(rest& server, std::string const& path) {
  return list_of(server.get(path + "/ranks"), "ranks");
}

std::string without_preload(json::array const& ranks) {
  std::size_t count = 0;
  std::string why;
  for (auto const& r : ranks)
    if (auto const text = text_of(r, "not_preloaded"); !text.empty() && ++count == 1) why = text;
  if (count == 0) return {};
  return std::to_string(count) + " of " + std::to_string(ranks.size()) +
         " ranks started without preload: " + for_terminal(why);
}

bool has_ended(json::value const& program) {
  auto const state = text_of(program, "state");
  return state == "SUCCEEDED" || state == "FAILED" || state == "CANCELLED";
}

std::string title_of(json::value const& program) {
  auto const name = text_of(program, "name");
  auto const id = text_of(program, "id");
  return name.empty() || name == id ? id : for_terminal(name) + " (" + id + ")";
}

std::string cause_of(json::value const& program) {
  auto const& cause = field_of(program, "cause");
  if (cause.is_null()) return {};
  auto text = for_terminal(text_of(cause, "text"));
  auto const& last = list_of(cause, "stderr");
  if (!last.empty()) text += "\n  last lines on stderr:";
  for (auto const& line : last)
    if (line.is_string()) text += "\n    " + for_terminal(std::string(line.as_string()));
  return text;
}

int exit_status_of(json::value const& program) {
  if (text_of(program, "state") == "SUCCEEDED") return exit_ok;
  auto const& cause = field_of(program, "cause");
  auto const signal = number_of(cause, "signal");
  auto const status = number_of(cause, "exit_status");
  if (signal > 0 && signal < 128) return 128 + static_cast<int>(signal);
  return status > 0 && status < 256 ? static_cast<int>(status) : exit_failed;
}

}  // namespace muster::cli
