// The command line as data, read from the CLI11 tree that also parses it; completion scripts and
// man pages generated from it. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace muster::cli {

struct known_option {
  std::vector<std::string> names;    // "-o", "--file"; empty for a positional
  std::string value;                 // "FILE"; empty: no value
  std::vector<std::string> choices;  // possible values, if they are listed
  std::string about;
  bool required = false;

  bool takes_file() const { return value == "FILE" || value == "DIR"; }
};

struct known_verb {
  std::vector<std::string> path;  // "bench", "kv"; empty for the program itself
  std::string about, footer;
  std::string group;  // heading among its siblings
  std::vector<known_option> options, positionals;
  std::vector<known_verb> below;
};

/// Returns the whole program with its commands, without hidden ones.
known_verb read_tree(CLI::App const& app);

/// Returns a command and all commands below it; the command itself is first.
std::vector<known_verb const*> all_verbs(known_verb const& top);

/// Joins words, by default with spaces.
std::string joined(std::vector<std::string> const& words, std::string const& between = " ");

// Shell scripts that complete commands, flags, choices and files of `muster …`. They do not
// complete ids, which only the server knows.
std::string bash_completion(known_verb const& top);
std::string zsh_completion(known_verb const& top);
std::string fish_completion(known_verb const& top);

// Man pages in roff with the man(7) macros, from the text of `--help`.

/// Returns "muster", "muster-serve", "muster-bench-kv".
std::string page_name(known_verb const& v);
/// The texts in the header and footer of pages.
struct edition {
  std::string version, date;  // "0.1.0", "2026-01-31"
};
/// Returns the page in section 1. `top` is the whole program.
std::string man_page(known_verb const& v, known_verb const& top, edition const& e);

}  // namespace muster::cli
