// muster help: prints the text of --help.
#include <iostream>

#include "cli/command.hpp"
#include "cli/suggestion.hpp"
#include "cli/tree/tree.hpp"

namespace muster::cli {
namespace {

struct help_options {
  std::vector<std::string> verb;
  CLI::App const* program = nullptr;
};

int print_help(help_options& o) {
  auto const* at = o.program;
  std::string before;
  for (auto const& name : o.verb) {
    auto const named =
        at->get_subcommands([&](CLI::App const* v) { return v->get_name() == name; });
    if (named.empty()) throw unknown_verb(*at, name);
    before += (before.empty() ? "" : " ") + at->get_name();
    at = named.front();
  }
  // For the program itself, CLI11 would print the help of the command that was parsed, which is
  // `help`.
  std::cout << at->get_formatter()->make_help(
      at, before.empty() ? at->get_name() : before + " " + at->get_name(),
      CLI::AppFormatMode::Normal);
  return exit_ok;
}

}  // namespace

void add_help(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(app, chosen, "help", "Print the help of a command", print_help);
  o->program = &app;
  add_value(*verb, "verb", o->verb, "COMMAND", "Command to describe (default: muster itself)");
  verb->footer("Example:\n  muster help submit");
}

}  // namespace muster::cli
