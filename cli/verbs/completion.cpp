// muster completion: a script for the shell.
#include "cli/tree/completion.hpp"

#include <iostream>

#include "cli/command.hpp"

namespace muster::cli {
namespace {

struct options {
  std::string shell;
  CLI::App* program = nullptr;
};

int run(options& o) {
  auto const top = read_tree(*o.program);
  std::cout << (o.shell == "bash"  ? bash_completion(top)
                : o.shell == "zsh" ? zsh_completion(top)
                                   : fish_completion(top));
  return exit_ok;
}

}  // namespace

void add_completion(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "completion", "Print what makes a shell complete 'muster'", run);
  o->program = &app;
  add_value(*verb, "shell", o->shell, "bash|zsh|fish", "Which shell")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""))
      ->required();
  verb->footer(
      "Examples:\n"
      "  source <(muster completion bash)                        # in ~/.bashrc; zsh: in "
      "~/.zshrc,\n"
      "                                                          # behind compinit\n"
      "  muster completion fish > ~/.config/fish/completions/muster.fish");
}

}  // namespace muster::cli
