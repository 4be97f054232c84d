// Fills the options of each command from the environment and the file. This runs after CLI11 has
// parsed the flags, because CLI11 has another precedence.
#include "cli/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cli/command.hpp"
#include "cli/suggestion.hpp"
#include "cli/words/config_file.hpp"

namespace muster::cli {
namespace {

using values = std::vector<std::string>;

// Options that no flag has set. The map lives as long as the app, a local variable of main().
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

std::vector<std::string> settings_in(CLI::App const& verb) {
  std::vector<std::string> names;
  auto const add = [&names](CLI::App const& one) {
    for (auto const* option : one.get_options())
      if (layered(*option)) names.push_back(long_name(*option));
  };
  add(verb);
  for (auto const* below : verb.get_subcommands([](CLI::App const*) { return true; })) add(*below);
  return names;
}

bool has(CLI::App const& verb, std::string const& key) {
  auto const known = [&key](CLI::App const& one) {
    auto const* option = one.get_option_no_throw("--" + key);
    return option != nullptr && layered(*option);
  };
  auto const below = verb.get_subcommands([](CLI::App const*) { return true; });
  return known(verb) ||
         std::any_of(below.begin(), below.end(), [&](auto const* v) { return known(*v); });
}

void check_names(config_file const& f, CLI::App const& app) {
  auto const verbs = app.get_subcommands([](CLI::App const*) { return true; });
  for (auto const& [at, value] : f.settings) {
    auto const& section = at.first;
    auto const& key = at.second;
    auto const where = f.at(value.line) + ": ";
    std::vector<CLI::App const*> meant;
    std::vector<std::string> names, keys;
    for (auto const* verb : verbs) {
      names.push_back(verb->get_name());
      if (section.empty() || verb->get_name() == section) meant.push_back(verb);
    }
    if (meant.empty())
      throw command_error(exit_usage, where + "unknown section [" + section + "]" +
                                          or_similar(section, names, "see 'muster --help'"));
    if (std::any_of(meant.begin(), meant.end(), [&](auto const* v) { return has(*v, key); }))
      continue;
    for (auto const* verb : meant)
      for (auto& name : settings_in(*verb)) keys.push_back(std::move(name));
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    throw command_error(
        exit_usage,
        where + "unknown setting '" + key + "'" + (section.empty() ? "" : " in [" + section + "]") +
            or_similar(key, keys,
                       "see 'muster " + (section.empty() ? "serve" : section) + " --help'"));
  }
}

void fill(CLI::Option& option, values const& given, std::string const& origin) {
  if (given.size() > 1 && option.get_items_expected_max() == 1)
    throw command_error(exit_usage, origin + ": " + long_name(option) + " accepts only one value");
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

/// Returns whether a common variable applies to this option. MUSTER_CLUSTER is a name for most
/// commands; for `serve`, it is a declaration, which contains ':'. MUSTER_TOKEN_FILE contains the
/// user's token; for `serve`, the option refers to the tokens of all users. For `resolve`, task,
/// master and coordinator are flags without a value, so MUSTER_TASK, MUSTER_MASTER and
/// MUSTER_COORDINATOR do not apply.
bool means(std::string const& value, CLI::Option const& option, std::string const& verb) {
  if (long_name(option) == "cluster")
    return (verb == "serve") == (value.find(':') != std::string::npos);
  if (long_name(option) == "token-file") return verb != "serve";
  static auto const flags_of_resolve = {"task", "master", "coordinator"};
  if (std::find(flags_of_resolve.begin(), flags_of_resolve.end(), long_name(option)) ==
      flags_of_resolve.end())
    return true;
  static auto const switches = {"true", "false", "on", "off", "yes", "no", "1", "0"};
  bool const is_switch = std::find(switches.begin(), switches.end(), value) != switches.end();
  return is_flag(option) == is_switch;
}

/// Returns "MUSTER_READY_FILE" for an option whose first long name is --ready-file, and
/// "MUSTER_SERVE_READY_FILE" with a command.
std::string environment_name(CLI::Option const& option, std::string const& verb = {}) {
  auto name = "MUSTER_" + (verb.empty() ? verb : verb + "_") + long_name(option);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : std::toupper(c); });
  return name;
}

struct variable {
  std::string name, value;
};

/// Returns the command's own environment variable, or else the common variable. Subcommands of
/// `bench` have no common variables.
std::optional<variable> from_environment(CLI::Option const& option, std::string const& section,
                                         bool shared) {
  auto const own = environment_name(option, section);
  if (auto const* value = std::getenv(own.c_str()); value && *value) return variable{own, value};
  auto const common = environment_name(option);
  auto const* value = std::getenv(common.c_str());
  if (!shared || !value || !*value || !means(value, option, section)) return {};
  return variable{common, value};
}

bool has_gpus(CLI::App const& verb, std::set<CLI::Option const*> const& given) {
  auto const* const resource = verb.get_option_no_throw("--resource");
  if (!given.contains(resource)) return false;
  auto const& all = resource->results();
  return std::any_of(all.begin(), all.end(), [](auto const& r) { return r.starts_with("gpu="); });
}

/// Returns whether an option that excludes this option is set. A token file also excludes a token,
/// and `--resource gpu=N` excludes `--gpus`.
bool is_excluded(CLI::Option const& option, CLI::App const& verb,
                 std::set<CLI::Option const*> const& given) {
  auto const has_value = [&given](CLI::Option const* o) { return given.contains(o); };
  if (long_name(option) == "token" && has_value(verb.get_option_no_throw("--token-file")))
    return true;
  if (long_name(option) == "gpus" && has_gpus(verb, given)) return true;
  auto const others = option.get_excludes();
  return std::any_of(others.begin(), others.end(), has_value);
}

std::set<CLI::Option const*> given_options(CLI::App const& verb) {
  std::set<CLI::Option const*> given;
  for (auto const* option : verb.get_options())
    if (option->count() > 0) given.insert(option);
  return given;
}

/// Fills options from the environment, then from the file. Ignores a value if an option from an
/// earlier source excludes it. `section` is the command's name; for `bench kv` it is "bench".
void complete(CLI::App& verb, std::string const& section, config_file const& f) {
  bool const shared = verb.get_name() == section;
  auto const fill_from = [&verb](auto const& source) {
    auto const given = given_options(verb);
    for (auto* option : verb.get_options())
      if (!given.contains(option) && layered(*option) && !is_excluded(*option, verb, given))
        source(*option);
  };
  fill_from([&](CLI::Option& option) {
    if (auto const set = from_environment(option, section, shared))
      fill(option, {set->value}, set->name);
  });
  fill_from([&](CLI::Option& option) {
    auto const* from = f.find(section, long_name(option));
    if (!from && shared) from = f.find("", long_name(option));
    if (from != nullptr) fill(option, from->texts, f.at(from->line));
  });
}

}  // namespace

void install_settings(CLI::App& app) {
  for (auto* verb : app.get_subcommands([](CLI::App const*) { return true; })) {
    auto* config = verb->add_option("--config", "Configuration file (TOML)")
                       ->type_name("FILE")
                       ->envname("MUSTER_CONFIG")
                       ->configurable(false);
    auto const read = [&app, config] {
      // Subcommands are completed before their parent has read the environment.
      auto const* named = std::getenv("MUSTER_CONFIG");
      auto f = read_config(config->count() > 0 ? config->results().back() : named ? named : "");
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
    for (auto const& r : results) value += (value.empty() ? "" : ", ") + config_text(r);
    if (results.size() > 1) value = "[" + value + "]";
    bool const flag = is_flag(*option);
    auto const fallback = flag ? "false" : config_text(option->get_default_str());
    auto const* origin = from != origins().end() ? from->second.c_str()
                         : option->count() > 0   ? "flag"
                                                 : "default";
    text +=
        long_name(*option) + " = " + (results.empty() ? fallback : value) + "  # " + origin + "\n";
  }
  return text;
}

}  // namespace muster::cli
