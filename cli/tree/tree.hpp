// The command line as data from CLI11's tree, and completion scripts and man pages generated from
// this data. Pure functions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace muster::cli {

struct option_info {
  std::vector<std::string> names;  // "-o", "--file"; empty for a positional argument
  std::string value;               // "FILE"; empty without a value
  std::vector<std::string> choices;
  std::string about;
  bool required = false;

  bool takes_file() const { return value == "FILE" || value == "DIR"; }
};

struct command_info {
  std::vector<std::string> path;  // "bench", "kv"; empty for the program itself
  std::string about, footer;
  std::string group;  // heading in the parent's help
  std::vector<option_info> options, positionals;
  std::vector<command_info> below;
};

/// Returns all commands except hidden commands.
command_info read_tree(CLI::App const& app);

/// Returns a command, then all of its subcommands.
std::vector<command_info const*> all_verbs(command_info const& top);

std::string joined(std::vector<std::string> const& words, std::string const& between = " ");

// Completes commands, flags, choices and files, but not IDs, which only the server can list.
std::string bash_completion(command_info const& top);
std::string zsh_completion(command_info const& top);
std::string fish_completion(command_info const& top);

/// Returns for example "muster-bench-kv".
std::string page_name(command_info const& v);
struct edition {
  std::string version, date;
};
std::string man_page(command_info const& v, command_info const& top, edition const& e);

}  // namespace muster::cli
