// Completes each verb from the environment and the file, behind CLI11's back: its order is another.
#include "cli/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
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

bool is_flag(CLI::Option const& o) {
  return o.get_expected_max() == 0;
}

std::string long_name(CLI::Option const& o) {
  return o.get_lnames().front();
}

/// A configuration file: values by section ("" at the top) and key.
struct file {
  std::string path;
  std::map<std::pair<std::string, std::string>, values> settings;

  values const* find(std::string const& section, std::string const& key) const {
    auto const it = settings.find({section, key});
    return it == settings.end() ? nullptr : &it->second;
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
    result.settings[{section, item.name}] = item.inputs;
  }
  return result;
}

void check_names(file const& f, CLI::App const& app) {
  auto const has_itself = [](CLI::App const& verb, std::string const& key) {
    auto const* option = verb.get_option_no_throw("--" + key);
    return option != nullptr && layered(*option);
  };
  auto const has = [&](CLI::App const& verb, std::string const& key) {
    auto const below = verb.get_subcommands([](CLI::App const*) { return true; });
    return has_itself(verb, key) || std::any_of(below.begin(), below.end(),
                                                [&](auto const* v) { return has_itself(*v, key); });
  };
  for (auto const& [at, unused] : f.settings) {
    auto const& section = at.first;
    auto const& key = at.second;
    auto const named = app.get_subcommands(
        [&](CLI::App const* v) { return !section.empty() && v->get_name() == section; });
    auto const* verb = named.empty() ? nullptr : named.front();
    if (!section.empty() && verb == nullptr)
      throw command_error(exit_usage, f.path + ": there is no verb for the section [" + section +
                                          "]; see 'muster --help'");
    auto const verbs = app.get_subcommands([](CLI::App const*) { return true; });
    bool const known =
        verb ? has(*verb, key)
             : std::any_of(verbs.begin(), verbs.end(), [&](auto const* v) { return has(*v, key); });
    if (!known)
      throw command_error(exit_usage, f.path + ": unknown setting '" + key + "'" +
                                          (verb ? " in [" + section + "]" : "") + "; see 'muster " +
                                          (verb ? section : "serve") + " --help'");
  }
}

void fill(CLI::Option& option, values const& given, std::string const& origin) {
  try {
    bool const flag = is_flag(option);
    for (auto const& value : given)
      option.add_result(flag ? option.get_flag_value(long_name(option), value) : value);
    option.run_callback();
    origins()[&option] = origin;
  } catch (CLI::Error const& e) {
    throw command_error(exit_usage, origin + ": " + e.what());
  }
}

/// Whether a variable that all verbs share means this one's option. MUSTER_CLUSTER is a name for
/// most verbs and for `serve` a declaration, which has a ':'; MUSTER_TOKEN_FILE has one's own
/// token, and for `serve` those of all; MUSTER_TASK is a task, and for `resolve` a flag.
bool means(std::string const& value, CLI::Option const& option, std::string const& verb) {
  if (long_name(option) == "cluster")
    return (verb == "serve") == (value.find(':') != std::string::npos);
  if (long_name(option) == "token-file") return verb != "serve";
  if (long_name(option) != "task") return true;
  static auto const switches = {"true", "false", "on", "off", "yes", "no", "1", "0"};
  bool const is_switch = std::find(switches.begin(), switches.end(), value) != switches.end();
  return is_flag(option) == is_switch;
}

/// "MUSTER_READY_FILE" of an option whose first long name is --ready-file; with a verb
/// "MUSTER_SERVE_READY_FILE".
std::string environment_name(CLI::Option const& option, std::string const& verb = {}) {
  auto name = "MUSTER_" + (verb.empty() ? verb : verb + "_") + long_name(option);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : std::toupper(c); });
  return name;
}

struct variable {
  std::string name, value;
};

/// The verb's own variable, else the one that verbs share (verbs of `bench` share none with
/// others).
std::optional<variable> from_environment(CLI::Option const& option, std::string const& section,
                                         bool shared) {
  auto const own = environment_name(option, section);
  if (auto const* value = std::getenv(own.c_str()); value && *value) return variable{own, value};
  auto const common = environment_name(option);
  auto const* value = std::getenv(common.c_str());
  if (!shared || !value || !*value || !means(value, option, section)) return {};
  return variable{common, value};
}

/// `section`: the verb's name, of `bench kv` "bench".
void complete(CLI::App& verb, std::string const& section, file const& f) {
  bool const shared = verb.get_name() == section;
  for (auto* option : verb.get_options()) {
    if (option->count() > 0 || !layered(*option)) continue;
    // A file that is named is meant, whatever token the environment has.
    auto const* const file_of_token =
        long_name(*option) == "token" ? verb.get_option_no_throw("--token-file") : nullptr;
    if (file_of_token && file_of_token->count() > 0) continue;
    auto const set = from_environment(*option, section, shared);
    auto const* here = f.find(section, long_name(*option));
    auto const* everywhere = shared ? f.find("", long_name(*option)) : nullptr;
    if (set)
      fill(*option, {set->value}, set->name);
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

void install_settings(CLI::App& app) {
  for (auto* verb : app.get_subcommands([](CLI::App const*) { return true; })) {
    auto* config = verb->add_option("--config", "Configuration file (TOML)")
                       ->type_name("FILE")
                       ->envname("MUSTER_CONFIG")
                       ->configurable(false);
    auto const read = [&app, config] {
      // What stands below a verb is complete before the verb itself has looked at the environment.
      auto const* named = std::getenv("MUSTER_CONFIG");
      auto f = read_file(config->count() > 0 ? config->results().back() : named ? named : "");
      check_names(f, app);
      return f;
    };
    verb->parse_complete_callback([verb, read] { complete(*verb, verb->get_name(), read()); });
    for (auto* below : verb->get_subcommands([](CLI::App const*) { return true; }))
      below->parse_complete_callback(
          [verb, below, read] { complete(*below, verb->get_name(), read()); });
  }
}

std::string settings_of(CLI::App const& verb) {
  std::string text = "[" + verb.get_name() + "]\n";
  for (auto const* option : verb.get_options()) {
    if (!layered(*option)) continue;
    auto const results = option->results();
    auto const from = origins().find(option);
    std::string value;
    for (auto const& r : results) value += (value.empty() ? "" : ", ") + quoted(r);
    if (results.size() > 1) value = "[" + value + "]";
    bool const flag = is_flag(*option);
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
