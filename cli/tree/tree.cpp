#include "cli/tree/tree.hpp"

#include <algorithm>
#include <sstream>

namespace muster::cli {
namespace {

bool is_word(std::string const& text) {
  auto const fits = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

/// Returns the choices in a value's type: "table" and "json" for "table|json", "list" and "get" for
/// "list | get KEY". Returns nothing for "JOB_ID|CLOSURE_ID" or a single name.
std::vector<std::string> choices_in(std::string const& type) {
  std::vector<std::string> choices;
  auto parts = std::istringstream(type);
  for (std::string part; std::getline(parts, part, '|');) {
    std::string word;
    std::istringstream(part) >> word;
    if (!is_word(word) || word.ends_with("_ID")) return {};
    choices.push_back(word);
  }
  if (choices.size() < 2) choices.clear();
  return choices;
}

option_info read_option(CLI::Option const& o) {
  option_info k;
  for (auto const& n : o.get_snames()) k.names.push_back("-" + n);
  for (auto const& n : o.get_lnames()) k.names.push_back("--" + n);
  bool const flag = o.get_items_expected_max() == 0;
  if (!flag) k.value = o.get_type_name().empty() ? "VALUE" : o.get_type_name();
  k.choices = choices_in(k.value);
  k.about = o.get_description();
  auto const& otherwise = o.get_default_str();
  if (!flag && !otherwise.empty()) k.about += " [" + otherwise + "]";
  k.required = o.get_required();
  return k;
}

command_info read_verb(CLI::App const& app, std::vector<std::string> path) {
  command_info v;
  v.path = std::move(path);
  v.about = app.get_description();
  v.footer = app.get_footer();
  v.group = app.get_group();
  for (auto const* o : app.get_options()) {
    if (o->get_group().empty()) continue;
    auto read = read_option(*o);
    if (!read.names.empty()) v.options.push_back(read);
    read.names.clear();
    if (o->get_positional()) v.positionals.push_back(std::move(read));
  }
  for (auto const* below : app.get_subcommands([](CLI::App const*) { return true; })) {
    if (below->get_group().empty()) continue;
    auto longer = v.path;
    longer.push_back(below->get_name());
    v.below.push_back(read_verb(*below, std::move(longer)));
  }
  return v;
}

}  // namespace

command_info read_tree(CLI::App const& app) {
  return read_verb(app, {});
}

std::vector<command_info const*> all_verbs(command_info const& top) {
  std::vector<command_info const*> all{&top};
  for (auto const& v : top.below)
    for (auto const* below : all_verbs(v)) all.push_back(below);
  return all;
}

std::string joined(std::vector<std::string> const& words, std::string const& between) {
  std::string text;
  for (auto const& w : words) text += (text.empty() ? "" : between) + w;
  return text;
}

}  // namespace muster::cli
