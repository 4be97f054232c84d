// Suggestions for misspelt commands and flags. Thread-safe.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace muster::cli {

/// Returns entries of `known` at most two edits from `word` (missing, extra, different or swapped
/// letters), nearest first. Short words allow one edit.
std::vector<std::string> similar(std::string const& word, std::vector<std::string> const& known);

/// Returns "; did you mean a or b?". Without a similar name, returns "; " and the hint, or nothing
/// without a hint.
std::string or_similar(std::string const& word, std::vector<std::string> const& known,
                       std::string const& hint = {});

bool is_like_a_flag(CLI::App const& verb, std::string const& flag);

/// `hint` is used if no flag is similar.
command_error unknown_flag(CLI::App const& verb, std::string const& word,
                           std::string const& hint = {});
command_error unknown_verb(CLI::App const& parent, std::string const& word);
/// Treats the first argument of the program itself as an unknown command.
command_error unexpected_arguments(CLI::App const& program, CLI::App const& verb);

std::vector<std::string> process_arguments();

/// Returns this process's command line, ready to paste, with `other` instead of `verb` and with
/// `flags`: "muster launch --upload . train.py".
std::string same_command(std::string const& verb, std::string const& other,
                         std::string const& flags = {});

}  // namespace muster::cli
