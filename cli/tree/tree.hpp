// The command line as data, read from the same CLI11 tree that parses it: what completion and man
// pages are written from. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace muster::cli {

struct known_option {
  std::vector<std::string> names;    // "-o", "--file"; of a positional none
  std::string value;                 // "FILE"; empty: it takes none
  std::vector<std::string> choices;  // what the value may be, where that is a list
  std::string about;
  bool required = false;

  bool takes_file() const { return value == "FILE" || value == "DIR"; }
};

struct known_verb {
  std::vector<std::string> path;  // "bench", "kv"; of the program itself empty
  std::string about, footer;
  std::vector<known_option> options, positionals;
  std::vector<known_verb> below;
};

/// Of the whole program, its verbs below it. Hidden ones are left out.
known_verb read_tree(CLI::App const& app);

/// A verb and all below it, the verb first.
std::vector<known_verb const*> all_verbs(known_verb const& top);

/// What a type's name says the value may be: of "table|json" both, of "list | get KEY" "list" and
/// "get". Of "JOB_ID|CLOSURE_ID", or one name alone, nothing.
std::vector<std::string> choices_in(std::string const& type);

/// Words with blanks between.
std::string joined(std::vector<std::string> const& words, std::string const& between = " ");

}  // namespace muster::cli
