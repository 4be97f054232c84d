// Generates one script for each shell: a case statement for bash, _arguments for zsh, `complete`
// lines for fish.
#include <algorithm>

#include "cli/tree/tree.hpp"

namespace muster::cli {
namespace {

using words = std::vector<std::string>;

std::string replaced(std::string text, char what, std::string const& by) {
  std::string out;
  for (char const c : text) out += c == what ? by : std::string(1, c);
  return out;
}

std::string quoted(std::string const& text) {
  return "'" + replaced(text, '\'', "'\\''") + "'";
}

// In fish, a backslash is special.
std::string quoted_for_fish(std::string const& text) {
  return "'" + replaced(replaced(text, '\\', "\\\\"), '\'', "\\'") + "'";
}

std::string short_text(std::string const& about) {
  auto const end = std::min({about.find("; "), about.find(": "), about.find(" [")});
  return about.substr(0, end);
}

words names_below(command_info const& v) {
  words names;
  for (auto const& b : v.below) names.push_back(b.path.back());
  return names;
}

words first_words(command_info const& v) {
  auto names = names_below(v);
  if (!v.positionals.empty())
    for (auto const& c : v.positionals.front().choices) names.push_back(c);
  return names;
}

bool any_positional_file(command_info const& v) {
  return std::any_of(v.positionals.begin(), v.positionals.end(),
                     [](auto const& p) { return p.takes_file(); });
}

std::string steps(command_info const& top) {
  std::string text;
  for (auto const* v : all_verbs(top))
    if (!v->path.empty()) {
      auto const parent = words(v->path.begin(), v->path.end() - 1);
      text += (text.empty() ? "" : "|") + quoted(joined(parent) + ":" + v->path.back());
    }
  return text;
}

std::string bash_case(command_info const& v) {
  words flags, files, silent;
  std::string choices;
  for (auto const& o : v.options) {
    for (auto const& n : o.names) flags.push_back(n);
    if (o.value.empty()) continue;
    if (!o.choices.empty())
      choices +=
          "        " + joined(o.names, "|") + ") words=" + quoted(joined(o.choices)) + " ;;\n";
    else
      for (auto const& n : o.names) (o.takes_file() ? files : silent).push_back(n);
  }
  auto text = "    " + quoted(joined(v.path)) + ")\n      flags=" + quoted(joined(flags)) +
              " words=" + quoted(joined(first_words(v))) + "\n";
  if (any_positional_file(v)) text += "      files=yes\n";
  text += "      case $previous in\n" + choices;
  if (!files.empty()) text += "        " + joined(files, "|") + ") words= files=yes ;;\n";
  if (!silent.empty()) text += "        " + joined(silent, "|") + ") return ;;\n";
  return text + "      esac ;;\n";
}

std::string zsh_value(option_info const& o) {
  if (o.value.empty()) return {};
  auto const name = ":" + replaced(replaced(o.value, ':', "\\:"), '\'', "");
  if (!o.choices.empty()) return name + ":(" + joined(o.choices) + ")";
  return name + (o.value == "DIR" ? ":_files -/" : o.takes_file() ? ":_files" : ": ");
}

std::string zsh_about(std::string const& about) {
  auto text = replaced(replaced(short_text(about), '\\', "\\\\"), ':', "\\:");
  return replaced(replaced(text, '[', "\\["), ']', "\\]");
}

std::string zsh_function(command_info const& v) {
  auto const name = "_muster" + (v.path.empty() ? "" : "_" + joined(v.path, "_"));
  auto text = replaced(name, '-', "_") + "() {\n  _arguments -C -s \\\n";
  for (auto const& o : v.options)
    for (auto const& n : o.names) {
      auto const assigned = o.value.empty() || !n.starts_with("--") ? "" : "=";
      text += "    " + quoted("*" + n + assigned + "[" + zsh_about(o.about) + "]" + zsh_value(o)) +
              " \\\n";
    }
  if (!v.below.empty()) {
    std::string verbs;
    for (auto const& b : v.below)
      verbs += " " + b.path.back() + "\\:" + quoted(replaced(short_text(b.about), ':', "\\:"));
    text +=
        "    " + quoted("1:command:((" + verbs.substr(1) + "))") + " \\\n    '*::words:->below'\n";
    text += "  [[ $state == below ]] || return\n  case $words[1] in\n";
    for (auto const& b : v.below)
      text +=
          "    " + b.path.back() + ") _muster_" + replaced(joined(b.path, "_"), '-', "_") + " ;;\n";
    return text + "  esac\n}\n\n";
  }
  auto const choices = first_words(v);
  if (!choices.empty()) text += "    " + quoted("1:what:(" + joined(choices) + ")") + " \\\n";
  return text + "    " + (any_positional_file(v) ? "'*: :_files'" : "'*: :( )'") + "\n}\n\n";
}

std::string fish_condition(command_info const& v) {
  return "__muster_is " + quoted_for_fish(joined(v.path));
}

std::string fish_lines(command_info const& v) {
  std::string text;
  auto const begin = "complete -c muster -n " + quoted_for_fish(fish_condition(v));
  for (auto const& b : v.below)
    text += begin + " -a " + b.path.back() + " -d " + quoted_for_fish(short_text(b.about)) + "\n";
  if (!v.positionals.empty() && !v.positionals.front().choices.empty())
    text += begin + " -a " + quoted_for_fish(joined(v.positionals.front().choices)) + "\n";
  if (any_positional_file(v)) text += begin + " -F\n";
  for (auto const& o : v.options) {
    text += begin;
    for (auto const& n : o.names)
      text += n.starts_with("--") ? " -l " + n.substr(2) : " -s " + n.substr(1);
    if (!o.value.empty()) text += o.takes_file() ? " -r -F" : " -x";
    if (!o.choices.empty()) text += " -a " + quoted_for_fish(joined(o.choices));
    text += " -d " + quoted_for_fish(short_text(o.about)) + "\n";
  }
  return text;
}

}  // namespace

std::string bash_completion(command_info const& top) {
  auto text =
      std::string(R"(# Completion of muster for bash. In ~/.bashrc: source <(muster completion bash)
_muster() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local path= flags= words= files= i
  # "=" is a word of its own here.
  if [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $current == = ]]; then
    current=
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -- ]] && { compopt -o default; return; }
    case "$path:${COMP_WORDS[i]}" in
      )") +
      steps(top) + R"() path=${path:+$path }${COMP_WORDS[i]} ;;
    esac
  done
  COMPREPLY=()
  case "$path" in
)";
  for (auto const* v : all_verbs(top)) text += bash_case(*v);
  return text + R"(  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    if [[ $files ]]; then
      compopt -o filenames
      COMPREPLY+=($(compgen -f -- "$current"))
    fi
  fi
}
complete -F _muster muster
)";
}

std::string zsh_completion(command_info const& top) {
  std::string text =
      "#compdef muster\n"
      "# Completion of muster for zsh: a file _muster in a directory of $fpath, or in ~/.zshrc,\n"
      "# behind compinit: source <(muster completion zsh)\n\n";
  for (auto const* v : all_verbs(top)) text += zsh_function(*v);
  text.insert(text.find("_muster() {\n") + 12,
              "  local curcontext=$curcontext state line\n  typeset -A opt_args\n");
  return text +
         "if [[ $funcstack[1] == _muster ]]; then\n  _muster \"$@\"\n"
         "else\n  compdef _muster muster\nfi\n";
}

std::string fish_completion(command_info const& top) {
  auto text = std::string(
                  R"(# Completion of muster for fish: ~/.config/fish/completions/muster.fish
function __muster_is --description 'Whether the command so far is this one'
    set -l path
    for word in (commandline -opc)[2..]
        switch "$path:$word"
            case )") +
              replaced(steps(top), '|', " ") + R"(
                set path (string join ' ' $path $word)
        end
    end
    test "$path" = "$argv[1]"
end

complete -c muster -f
)";
  for (auto const* v : all_verbs(top)) text += fish_lines(*v);
  return text;
}

}  // namespace muster::cli
