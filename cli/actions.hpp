// Commands with subcommands ("actions"), such as "muster kv put KEY VALUE".
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace muster::cli {

class parsed_action {
 public:
  struct known {
    char const* action;
    std::size_t arguments_max = std::string::npos;
  };
  /// Without arguments, uses the first action.
  /// @throws command_error (usage) if the action is unknown or has too many arguments.
  parsed_action(std::string verb, std::vector<std::string> words,
                std::initializer_list<known> actions);

  std::string const& action() const { return action_; }
  std::vector<std::string> const& rest() const { return rest_; }
  /// @throws command_error (usage) whose message names the missing argument
  std::string const& need(std::size_t at, std::string const& what) const;
  command_error wrong(std::string const& why) const;

 private:
  std::string verb_, action_;
  std::vector<std::string> rest_;
};

/// Returns the arguments that are not flags, followed by `literal`, the arguments after "--". CLI11
/// itself would split "[1, 2]" and treat "-5" as a flag.
/// @throws command_error (usage) whose message names an unknown flag
std::vector<std::string> remaining_arguments(CLI::App const& verb,
                                             std::vector<std::string> const& literal);
void add_closure_cluster_option(CLI::App& verb, std::string& cluster);
std::string of_cluster(std::string const& name);
void add_cluster_option(CLI::App& verb, std::string& cluster);

}  // namespace muster::cli
