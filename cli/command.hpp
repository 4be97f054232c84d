// What the verbs share: how one is added to the command line, and how one ends.
//
// A verb's add function declares its flags and leaves its work in `chosen`; main runs that after
// the whole command line, the environment and the file have been read.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace muster::cli {

enum exit_status : int {
  exit_ok = 0,
  exit_failed = 1,       // the thing asked for failed, was cancelled or took too long
  exit_usage = 2,        // flags, environment, configuration file, address in use
  exit_unreachable = 3,  // no server answers at the address
};

/// Ends a verb: one line on stderr, then this exit status.
class command_error : public std::runtime_error {
 public:
  command_error(exit_status status, std::string const& line)
      : std::runtime_error(line), status_(status) {}
  exit_status status() const { return status_; }

 private:
  exit_status status_;
};

/// What the command line comes to.
struct choice {
  std::function<int()> run;
  /// What stands behind "--": arguments of a function, whatever they look like. CLI11 would take
  /// them for words of the program itself, so main keeps them from it.
  std::vector<std::string> literal;
};

void add_serve(CLI::App& app, choice& chosen);
void add_worker(CLI::App& app, choice& chosen);
void add_run(CLI::App& app, choice& chosen);
void add_submit(CLI::App& app, choice& chosen);
void add_jobs(CLI::App& app, choice& chosen);
void add_fetch(CLI::App& app, choice& chosen);
void add_cancel(CLI::App& app, choice& chosen);
void add_retry(CLI::App& app, choice& chosen);
void add_explain(CLI::App& app, choice& chosen);
void add_tasks(CLI::App& app, choice& chosen);
/// cordon, uncordon, drain
void add_cordon(CLI::App& app, choice& chosen);
void add_barriers(CLI::App& app, choice& chosen);
void add_kv(CLI::App& app, choice& chosen);
void add_clusters(CLI::App& app, choice& chosen);
void add_per_worker(CLI::App& app, choice& chosen);
void add_events(CLI::App& app, choice& chosen);
void add_logs(CLI::App& app, choice& chosen);
void add_trace(CLI::App& app, choice& chosen);
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

/// Texts such as NAME=VALUE of a repeatable flag. command_error (usage) shows `form`.
std::map<std::string, std::string> named_values(std::string const& flag, std::string const& form,
                                                std::vector<std::string> const& texts);

/// Adds a verb whose work is `run(options)`. Gives the verb and its options, which outlive the
/// parse, for the flags.
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

}  // namespace muster::cli
