// muster man and completion: generate man pages and shell completions.
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/tree/tree.hpp"

namespace muster::cli {
namespace {

struct man_options {
  std::vector<std::string> verb;
  std::string directory;
  CLI::App* program = nullptr;
};

edition this_edition() {
  auto const* given = std::getenv("SOURCE_DATE_EPOCH");
  auto const seconds = given ? muster::parse_number(given) : std::nullopt;
  auto const at = static_cast<std::time_t>(seconds.value_or(std::time(nullptr)));
  std::tm parts{};
  ::gmtime_r(&at, &parts);
  char date[16];
  std::strftime(date, sizeof date, "%Y-%m-%d", &parts);
  return {MUSTER_VERSION, date};
}

void write_all(command_info const& top, std::filesystem::path const& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  for (auto const* v : all_verbs(top)) {
    auto const path = directory / (page_name(*v) + ".1");
    auto file = std::ofstream(path);
    file << man_page(*v, top, this_edition()) << std::flush;
    if (!file)
      throw command_error(
          exit_failed,
          "--dir: cannot write " + path.string() +
              ": check that you can write to the directory and that the disk is not full");
  }
}

int run_man(man_options& o) {
  auto const top = read_tree(*o.program);
  if (!o.directory.empty()) {
    write_all(top, o.directory);
    return exit_ok;
  }
  for (auto const* v : all_verbs(top))
    if (v->path == o.verb) {
      std::cout << man_page(*v, top, this_edition());
      return exit_ok;
    }
  throw command_error(exit_usage,
                      "there is no command '" + joined(o.verb) + "'; see 'muster --help'");
}

struct completion_options {
  std::string shell;
  CLI::App* program = nullptr;
};

int print_completion(completion_options& o) {
  auto const top = read_tree(*o.program);
  std::cout << (o.shell == "bash"  ? bash_completion(top)
                : o.shell == "zsh" ? zsh_completion(top)
                                   : fish_completion(top));
  return exit_ok;
}

}  // namespace

void add_man(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(app, chosen, "man", "Print or write the man pages", run_man);
  o->program = &app;
  add_value(*verb, "verb", o->verb, "COMMAND",
            "Command whose page is printed (default: muster itself)");
  add_value(*verb, "--dir", o->directory, "DIR",
            "Directory to which all pages are written: muster.1, muster-serve.1, …");
  verb->footer(
      "Examples:\n"
      "  muster man serve | man -l -\n"
      "  muster man --dir /usr/local/share/man/man1");
}

void add_completion(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "completion", "Print the shell's completion script for 'muster'",
               print_completion);
  o->program = &app;
  add_value(*verb, "shell", o->shell, "bash|zsh|fish", "Shell to complete in")
      ->check(one_of({"bash", "zsh", "fish"}))
      ->required();
  verb->footer(
      "Examples:\n"
      "  source <(muster completion bash)                        # in ~/.bashrc; zsh: in "
      "~/.zshrc,\n"
      "                                                          # behind compinit\n"
      "  muster completion fish > ~/.config/fish/completions/muster.fish");
}

}  // namespace muster::cli
