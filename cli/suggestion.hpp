// Suggestions for misspelt commands and flags. Any thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace muster::cli {

/// Returns the entries of `known` that differ from `word` by one or two edits (a missing, extra,
/// different or swapped letter), nearest first. Short words allow one edit.
std::vector<std::string> similar(std::string const& word, std::vector<std::string> const& known);

/// Returns "; did you mean a or b?". If there is no similar name, returns "; " and the hint, or an
/// empty string without a hint.
std::string or_similar(std::string const& word, std::vector<std::string> const& known,
                       std::string const& hint = {});

/// Returns whether the command has a similar flag.
bool is_like_a_flag(CLI::App const& verb, std::string const& flag);

/// Returns the error for an unknown flag, with similar flags, or else with `hint`.
command_error unknown_flag(CLI::App const& verb, std::string const& word,
                           std::string const& hint = {});
/// Returns the error for an unknown subcommand of `parent`.
command_error unknown_verb(CLI::App const& parent, std::string const& word);
/// Returns the error for unexpected arguments. The first unexpected argument of the program itself
/// is taken for an unknown command.
command_error unexpected_words(CLI::App const& program, CLI::App const& verb);

/// Returns the arguments of this process.
std::vector<std::string> words_of_process();

/// Returns this process's command line in a form that can be pasted, with the command `other` in
/// place of `verb`, and with `flags`: "muster launch --upload . train.py".
std::string same_command(std::string const& verb, std::string const& other,
                         std::string const& flags = {});

}  // namespace muster::cli
