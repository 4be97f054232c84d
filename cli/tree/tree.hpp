// The command line as data, read from the same CLI11 tree that parses it; completion and man pages,
// which are written from it. Pure.
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
  std::string group;  // heading among its siblings
  std::vector<known_option> options, positionals;
  std::vector<known_verb> below;
};

/// Of the whole program, its verbs below it. Hidden ones are left out.
known_verb read_tree(CLI::App const& app);

/// A verb and all below it, the verb first.
std::vector<known_verb const*> all_verbs(known_verb const& top);

/// Words with blanks between.
std::string joined(std::vector<std::string> const& words, std::string const& between = " ");

// Scripts that make a shell complete `muster …`: verbs, flags, choices of flags, files. Ids are the
// server's and completed by nobody.
std::string bash_completion(known_verb const& top);
std::string zsh_completion(known_verb const& top);
std::string fish_completion(known_verb const& top);

// Man pages, roff with the macros of man(7), from what `--help` says.

/// "muster", "muster-serve", "muster-bench-kv".
std::string page_name(known_verb const& v);
/// What stands at the edges of pages.
struct edition {
  std::string version, date;  // "0.1.0", "2026-01-31"
};
/// The page in section 1. `top`: the whole program.
std::string man_page(known_verb const& v, known_verb const& top, edition const& e);

}  // namespace muster::cli
