// Verbs with actions of their own: "muster kv put KEY VALUE". The first word says what to do.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace muster::cli {

class action_words {
 public:
  struct known {
    char const* action;
    std::size_t words_max = std::string::npos;  // behind it
  };
  /// Without a word the first of `actions` is meant. command_error (usage): the word is none of
  /// them, which are listed, or there are too many behind it.
  action_words(std::string verb, std::vector<std::string> words,
               std::initializer_list<known> actions);

  std::string const& action() const { return action_; }
  /// Words behind the action.
  std::vector<std::string> const& rest() const { return rest_; }
  /// command_error (usage) says which word is missing.
  std::string const& need(std::size_t at, std::string const& what) const;
  /// A wrong use of the action, in words.
  command_error wrong(std::string const& why) const;

 private:
  std::string verb_, action_;
  std::vector<std::string> rest_;
};

/// The words that are no flags, of a verb that allows extras; `literal` stood behind "--". CLI11
/// would take "[1, 2]" apart and "-5" for a flag. command_error (usage) names an unknown flag.
std::vector<std::string> leftover_words(CLI::App const& verb,
                                        std::vector<std::string> const& literal);
/// `--cluster` of verbs about closures, and the name as a parameter of a listing.
void add_pool_option(CLI::App& verb, std::string& cluster);
std::string of_cluster(std::string const& name);
void add_cluster_option(CLI::App& verb, std::string& cluster);

}  // namespace muster::cli
