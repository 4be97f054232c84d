// The command line as data, read from CLI11's tree; completion scripts and man pages generated from
// it. Pure.
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

/// Returns the whole program, without hidden commands.
known_verb read_tree(CLI::App const& app);

/// Returns a command, then all commands below it.
std::vector<known_verb const*> all_verbs(known_verb const& top);

std::string joined(std::vector<std::string> const& words, std::string const& between = " ");

// Completion of commands, flags, choices and files, but not of ids, which only the server knows.
std::string bash_completion(known_verb const& top);
std::string zsh_completion(known_verb const& top);
std::string fish_completion(known_verb const& top);

// Man pages in roff with the man(7) macros.

/// Returns "muster", "muster-serve", "muster-bench-kv".
std::string page_name(known_verb const& v);
/// The text of a man page's header and footer.
struct edition {
  std::string version, date;  // "0.1.0", "2026-01-31"
};
/// Returns a page of section 1. `top` is the whole program.
std::string man_page(known_verb const& v, known_verb const& top, edition const& e);

}  // namespace muster::cli
