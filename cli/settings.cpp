// Completes each verb from the environment and the file, behind CLI11's back: its order is another.
#include "cli/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <vector>

#include "cli/command.hpp"

namespace muster::cli {
namespace {

using values = std::vector<std::string>;

// Options filled from elsewhere than a flag. Options live as long as the app, which lives in main.
std::map<CLI::Option const*, std::string>& origins() {
  static std::map<CLI::Option const*, std::string> all;
  return all;
}

bool layered(CLI::Option const& o) {
  return o.get_configurable() && !o.get_lnames().empty() && o.get_lnames().front() != "help";
}

std::string long_name(CLI::Option const& o) {
  return o.get_lnames().front();
}

/// A configuration file: section ("" at the top) → key → values.
struct file {
  std::string path;
  std::map<std::string, std::map<std::string, values>> sections;

  values const* find(std::string const& section, std::string const& key) const {
    auto const s = sections.find(section);
    if (s == sections.end()) return nullptr;
    auto const k = s->second.find(key);
    return k == s->second.end() ? nullptr : &k->second;
  }
};

file read_file(std::string const& path) {
  file result{path, {}};
  if (path.empty()) return result;
  auto stream = std::ifstream(path);
  if (!stream || stream.peek() == std::ifstream::traits_type::eof())
    throw command_error(exit_usage,
                        "cannot read the configuration file " + path +
                            ": check the path and its permissions, or leave --config away");
  for (auto const& item : CLI::ConfigTOML().from_config(stream)) {
    if (item.name == "++" || item.name == "--") continue;  // how CLI11 marks sections
    auto const section = item.parents.empty() ? std::string() : item.parents.front();
    result.sections[section][item.name] = item.inputs;
  }
  return result;
}

void check_names(file const& f, CLI::App const& app) {
  auto const has = [](CLI::App const& verb, std::string const& key) {
    auto const* option = verb.get_option_no_throw("--" + key);
    return option != nullptr && layered(*option);
  };
  for (auto const& [section, entries] : f.sections) {
    auto const named = app.get_subcommands(
        [&s = section](CLI::App const* v) { return !s.empty() && v->get_name() == s; });
    auto const* verb = named.empty() ? nullptr : named.front();
    if (!section.empty() && verb == nullptr)
      throw command_error(exit_usage, f.path + ": there is no verb for the section [" + section +
                                          "]; see 'muster --help'");
    for (auto const& [key, unused] : entries) {
      auto const verbs = app.get_subcommands([](CLI::App const*) { return true; });
      bool const known = verb ? has(*verb, key)
                              : std::any_of(verbs.begin(), verbs.end(),
                                            [&](auto const* v) { return has(*v, key); });
      if (!known)
        throw command_error(exit_usage, f.path + ": unknown setting '" + key + "'" +
                                            (verb ? " in [" + section + "]" : "") +
                                            "; see 'muster " + (verb ? section : "serve") +
                                            " --help'");
    }
  }
}

void fill(CLI::Option& option, values const& given, std::string const& origin) {
  try {
    bool const flag = option.get_expected_max() == 0;
    for (auto const& value : given)
      option.add_result(flag ? option.get_flag_value(long_name(option), value) : value);
    option.run_callback();
    origins()[&option] = origin;
  } catch (CLI::Error const& e) {
    throw command_error(exit_usage, origin + ": " + e.what());
  }
}

void complete(CLI::App& verb, file const& f) {
  for (auto* option : verb.get_options()) {
    if (option->count() > 0 || !layered(*option)) continue;
    auto const name = environment_name(*option);
    auto const* value = std::getenv(name.c_str());
    auto const* here = f.find(verb.get_name(), long_name(*option));
    auto const* everywhere = f.find("", long_name(*option));
    if (value != nullptr && *value != '\0')
      fill(*option, {value}, name);
    else if (here != nullptr || everywhere != nullptr)
      fill(*option, here ? *here : *everywhere, f.path);
  }
}

std::string quoted(std::string const& text) {
  bool const bare = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (bare || text == "true" || text == "false") return text;
  auto const* mark =
      text.find('"') == std::string::npos ? "\"" : "'";  // JSON is full of the former
  return mark + text + mark;
}

}  // namespace

std::string environment_name(CLI::Option const& option) {
  auto name = "MUSTER_" + long_name(option);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : std::toupper(c); });
  return name;
}

void settings::install(CLI::App& app) {
  for (auto* verb : app.get_subcommands([](CLI::App const*) { return true; })) {
    auto* config = verb->add_option("--config", "Configuration file (TOML)")
                       ->type_name("FILE")
                       ->envname("MUSTER_CONFIG")
                       ->configurable(false);
    verb->parse_complete_callback([&app, verb, config] {
      auto const f = read_file(config->count() > 0 ? config->results().back() : std::string());
      check_names(f, app);
      complete(*verb, f);
    });
  }
}

std::string settings::to_toml(CLI::App const& verb) {
  std::string text = "[" + verb.get_name() + "]\n";
  for (auto const* option : verb.get_options()) {
    if (!layered(*option)) continue;
    auto const results = option->results();
    auto const from = origins().find(option);
    std::string value;
    for (auto const& r : results) value += (value.empty() ? "" : ", ") + quoted(r);
    if (results.size() > 1) value = "[" + value + "]";
    bool const flag = option->get_expected_max() == 0;
    auto const fallback = flag ? "false" : quoted(option->get_default_str());
    auto const* origin = from != origins().end() ? from->second.c_str()
                         : option->count() > 0   ? "flag"
                                                 : "default";
    text +=
        long_name(*option) + " = " + (results.empty() ? fallback : value) + "  # " + origin + "\n";
  }
  return text;
}

}  // namespace muster::cli
