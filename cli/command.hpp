// Functions that add commands to the command line, and exit statuses.
//
// An add function declares flags and stores the command's action in `chosen`. main() runs the
// action after the command line, the environment and the configuration file have been read.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/words/values.hpp"

namespace muster::cli {

enum exit_status : int {
  exit_ok = 0,
  exit_failed = 1,       // the requested work failed, was cancelled or timed out
  exit_usage = 2,        // wrong flag, environment variable or file, or address in use
  exit_unreachable = 3,  // no server answers at the address
};

/// An error that main() prints as one line to stderr before it exits with this status.
class command_error : public std::runtime_error {
 public:
  command_error(exit_status status, std::string const& line)
      : std::runtime_error(line), status_(status) {}
  exit_status status() const { return status_; }

 private:
  exit_status status_;
};

struct choice {
  std::function<int()> run;
  /// Arguments after "--". main() removes them before parsing, because CLI11 would assign them to
  /// the program itself.
  std::vector<std::string> literal;
};

void add_serve(CLI::App& app, choice& chosen);
void add_worker(CLI::App& app, choice& chosen);
void add_run(CLI::App& app, choice& chosen);
void add_launch(CLI::App& app, choice& chosen);
void add_programs(CLI::App& app, choice& chosen);
void add_objects(CLI::App& app, choice& chosen);
void add_datasets(CLI::App& app, choice& chosen);
void add_task_launcher(CLI::App& app, choice& chosen);
void add_stack_reader(CLI::App& app, choice& chosen);
void add_submit(CLI::App& app, choice& chosen);
void add_jobs(CLI::App& app, choice& chosen);
void add_fetch(CLI::App& app, choice& chosen);
void add_cancel(CLI::App& app, choice& chosen);
void add_retry(CLI::App& app, choice& chosen);
void add_explain(CLI::App& app, choice& chosen);
void add_stacks(CLI::App& app, choice& chosen);
void add_tasks(CLI::App& app, choice& chosen);
void add_cordon(CLI::App& app, choice& chosen);
void add_barriers(CLI::App& app, choice& chosen);
void add_kv(CLI::App& app, choice& chosen);
void add_torch(CLI::App& app, choice& chosen);
void add_clusters(CLI::App& app, choice& chosen);
void add_per_worker(CLI::App& app, choice& chosen);
void add_history(CLI::App& app, choice& chosen);
void add_events(CLI::App& app, choice& chosen);
void add_logs(CLI::App& app, choice& chosen);
void add_trace(CLI::App& app, choice& chosen);
void add_postmortem(CLI::App& app, choice& chosen);
void add_resolve(CLI::App& app, choice& chosen);
void add_data(CLI::App& app, choice& chosen);
void add_token(CLI::App& app, choice& chosen);
void add_proxy(CLI::App& app, choice& chosen);
void add_tls(CLI::App& app, choice& chosen);
void add_version(CLI::App& app, choice& chosen);
void add_doctor(CLI::App& app, choice& chosen);
void add_top(CLI::App& app, choice& chosen);
void add_completion(CLI::App& app, choice& chosen);
void add_man(CLI::App& app, choice& chosen);
void add_functions(CLI::App& app, choice& chosen);
void add_queue(CLI::App& app, choice& chosen);
void add_help(CLI::App& app, choice& chosen);

/// Parses NAME=VALUE pairs.
/// @throws command_error (usage) whose message shows `form`
std::map<std::string, std::string> named_values(std::string const& flag, std::string const& form,
                                                std::vector<std::string> const& texts);

/// Adds a command whose action is `run(options)`. The returned options outlive the parsing.
template <class Options>
std::pair<CLI::App*, std::shared_ptr<Options>> add_verb(CLI::App& app, choice& chosen,
                                                        std::string name, std::string about,
                                                        int (*run)(Options&)) {
  auto* verb = app.add_subcommand(std::move(name), std::move(about));
  auto options = std::make_shared<Options>();
  verb->callback(
      [&chosen, options, run] { chosen.run = [options, run] { return run(*options); }; });
  return {verb, options};
}

template <class T>
CLI::Option* add_value(CLI::App& verb, std::string const& name, T& value, std::string const& type,
                       std::string const& help) {
  auto* option = verb.add_option(name, value, help)->type_name(type);
  if constexpr (is_whole_number<T>)
    option->check(number_that_fits<T>(std::numeric_limits<std::int64_t>::min()));
  return option;
}

/// Passes the value to `take`, as one or several strings. `take` can throw CLI::ValidationError.
template <class Text = std::string, class Take>
CLI::Option* add_read(CLI::App& verb, std::string const& name, std::string const& type,
                      std::string const& help, Take take) {
  auto const flag = name.substr(name.rfind(',') + 1);
  auto named = [flag, take = std::move(take)](Text const& text) mutable {
    try {
      take(text);
    } catch (CLI::ValidationError const& e) {
      if (!flag.starts_with('-') || std::string_view(e.what()).starts_with('-')) throw;
      throw CLI::ValidationError(flag, e.what());
    }
  };
  return verb.add_option_function<Text>(name, std::move(named), help)->type_name(type);
}

template <class Number>
CLI::Option* add_number(CLI::App& verb, std::string const& name, Number& value,
                        std::string const& help, std::int64_t least, std::uint64_t most) {
  return verb.add_option(name, value, help)->type_name("N")->check(whole_number(least, most));
}

template <class Number>
CLI::Option* add_count(CLI::App& verb, std::string const& name, Number& value,
                       std::string const& help, std::int64_t least = 0) {
  using limits = std::numeric_limits<typename number_in<Number>::type>;
  return add_number(verb, name, value, help, least, limits::max())->capture_default_str();
}

template <class Number>
CLI::Option* add_bytes(CLI::App& verb, std::string const& name, Number& value,
                       std::string const& help) {
  return add_value(verb, name, value, "BYTES", help)->transform(byte_size())->capture_default_str();
}

inline CLI::Option* add_repeated(CLI::App& verb, std::string const& name,
                                 std::vector<std::string>& values, std::string const& type,
                                 std::string const& help) {
  return add_value(verb, name, values, type, help)->allow_extra_args(false);
}

inline CLI::Option* add_list(CLI::App& verb, std::string const& name,
                             std::vector<std::string>& values, std::string const& type,
                             std::string const& help) {
  return add_value(verb, name, values, type, help)->delimiter(',');
}

/// The first of the choices is the default.
template <class Enum>
CLI::Option* add_choice(CLI::App& verb, std::string const& name, Enum& value,
                        std::initializer_list<std::pair<std::string const, Enum>> choices,
                        std::string const& help) {
  std::string type;
  std::vector<std::string> names;
  for (auto const& c : choices) {
    type += (type.empty() ? "" : "|") + c.first;
    names.push_back(c.first);
  }
  auto const take = [&value, names,
                     all = std::map<std::string, Enum>(choices)](std::string const& text) {
    auto const found = all.find(text);
    if (found == all.end()) throw CLI::ValidationError(none_of(text, names));
    value = found->second;
  };
  return add_read(verb, name, type, help, take)->default_str(names.front());
}

}  // namespace muster::cli
