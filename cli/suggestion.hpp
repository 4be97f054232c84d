// What a misspelt verb or flag may have been meant to be. Any thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace muster::cli {

/// Those of `known` that differ from `word` in a letter or two (left out, too many, another, two of
/// them swapped), nearest first; none when they are as good as different words.
std::vector<std::string> similar(std::string const& word, std::vector<std::string> const& known);

/// "; did you mean a or b?", or "; " and the hint where nothing is similar, or nothing.
std::string or_similar(std::string const& word, std::vector<std::string> const& known,
                       std::string const& hint = {});

/// Returns whether the verb has a flag that is similar to this one.
bool is_like_a_flag(CLI::App const& verb, std::string const& flag);

/// Of a flag that the verb does not have: names what may have been meant. `hint` stands where
/// nothing is similar.
command_error unknown_flag(CLI::App const& verb, std::string const& word,
                           std::string const& hint = {});
/// Of a verb that `parent` does not have.
command_error unknown_verb(CLI::App const& parent, std::string const& word);
/// Of words that nobody takes: of the program itself the first is a verb that there is none of.
command_error unexpected_words(CLI::App const& program, CLI::App const& verb);

/// The words of this process's command line behind its name.
std::vector<std::string> words_of_process();

/// Returns this process's command line as it can be typed, with another verb in place of `verb`,
/// and `flags` behind it: "muster launch --upload . train.py".
std::string same_command(std::string const& verb, std::string const& other,
                         std::string const& flags = {});

}  // namespace muster::cli
