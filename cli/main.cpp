#include <absl/synchronization/mutex.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string_view>
#include <vector>

#include "base/process/init.hpp"
#include "base/version.hpp"
#include "cli/command.hpp"
#include "cli/neutral_text.hpp"
#include "cli/rest.hpp"
#include "cli/settings.hpp"
#include "cli/suggestion.hpp"
#include "cli/tree/help_formatter.hpp"
#include "cli/words/field_flags.hpp"
#include "client/error_text.hpp"

#ifdef MUSTER_WITH_BENCH
namespace muster::bench {
void add_command(CLI::App& app);
}  // namespace muster::bench
#endif

namespace {

using namespace muster::cli;

struct verb_group {
  char const* name;
  std::vector<void (*)(CLI::App&, choice&)> verbs;
};

void name_group(CLI::App& app, char const* name) {
  for (auto* verb : app.get_subcommands([](CLI::App const*) { return true; }))
    if (verb->get_group() == "Subcommands") verb->group(name);
}

void add_verbs(CLI::App& app, choice& chosen) {
  for (auto const& group :
       {verb_group{
            "Start",
            {add_serve, add_worker, add_run, add_launch, add_task_launcher, add_stack_reader}},
        verb_group{
            "Run",
            {add_submit, add_jobs, add_queue, add_fetch, add_logs, add_explain, add_cancel,
             add_retry, add_functions, add_per_worker, add_programs, add_objects, add_datasets}},
        verb_group{"Inspect",
                   {add_tasks, add_top, add_stacks, add_events, add_history, add_trace,
                    add_postmortem, add_doctor}},
        verb_group{"Coordinate", {add_clusters, add_barriers, add_kv, add_torch, add_resolve}},
        verb_group{"Operate", {add_cordon, add_data, add_token, add_tls, add_proxy}},
        verb_group{"This program", {add_help, add_version, add_completion, add_man}}}) {
    for (auto* add : group.verbs) add(app, chosen);
    name_group(app, group.name);
  }
#ifdef MUSTER_WITH_BENCH
  muster::bench::add_command(app);
  name_group(app, "Measure");
#endif
  install_settings(app);
}

CLI::App const& innermost(CLI::App const& app) {
  auto const chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

std::string name_of(CLI::App const& app) {
  auto const chosen = app.get_subcommands();
  return chosen.empty() ? "muster" : "muster " + chosen.front()->get_name();
}

int complain(CLI::App const& app, std::string const& what, int status) {
  std::cerr << name_of(app) << ": " << what << '\n';
  return status;
}

int misunderstood(CLI::App const& app, std::string const& what) {
  return complain(app, what + " (see '" + name_of(app) + " --help')", exit_usage);
}

// Returns "--role: the value ROLE is missing" for CLI11's "--role: 1 required ROLE missing".
std::string mismatch(std::string what) {
  constexpr std::string_view count = ": 1 required ", missing = " missing";
  auto const at = what.find(count);
  if (at == std::string::npos || !what.ends_with(missing)) return what;
  what.insert(what.size() - missing.size(), " is");
  return what.replace(at, count.size(), ": the value ");
}

// For a pipe, a failed write is harmless: the reader has exited.
bool is_pipe(int fd) {
  struct stat of {};
  return fstat(fd, &of) == 0 && (S_ISFIFO(of.st_mode) || S_ISSOCK(of.st_mode));
}

// A full disk is a failure, because scripts rely on the exit status.
int printed(CLI::App const& app, int status) {
  errno = 0;
  bool const whole = std::fflush(stdout) == 0 && std::cout.flush().good();
  if (whole || status != exit_ok || is_pipe(STDOUT_FILENO)) return status;
  auto const why = errno == 0 ? std::string() : std::string(": ") + std::strerror(errno);
  return complain(app, "cannot write the output" + why, exit_failed);
}

std::string hint_for(CLI::App const& verb, request_end const& end) {
  constexpr unsigned insufficient_storage = 507;
  bool const may_forget = verb.get_option_no_throw("--durable") != nullptr;
  return end.status == insufficient_storage && may_forget
             ? "; or pass --no-durable for a job that is lost when the server restarts"
             : "";
}

}  // namespace

int main(int argc, char** argv) {
  if (auto const status = muster::run_as_init()) return *status;
  // Debian's absl searches for lock cycles whenever gRPC locks a mutex, which serializes all
  // threads. Muster itself uses no absl mutexes.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  neutralize_output();
  CLI::App app("Muster: coordinates the tasks of clusters and runs functions and programs on them.",
               "muster");
  app.formatter(std::make_shared<help_formatter>(help_columns()));
  app.require_subcommand(0, 1);
  app.footer(
      "Exit status: 0 success, 1 failure, 2 wrong usage or configuration, 3 no server.\n"
      "Each flag can also be set in the environment (MUSTER_URL for --url) or in a file.");
  app.set_version_flag("--version", "muster " + std::string(muster::version()),
                       "Print the version of this program");
  choice chosen;
  add_verbs(app, chosen);
  auto* const dashes = std::find(argv, argv + argc, std::string_view("--"));
  chosen.literal.assign(dashes == argv + argc ? dashes : dashes + 1, argv + argc);
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
    if (app.get_subcommands().empty()) return misunderstood(app, "no command was given");
    auto const takes = [&app](char const* verb) { return app.got_subcommand(verb); };
    if (!chosen.literal.empty() && !takes("run") && !takes("launch") && !takes("submit") &&
        !takes("kv") && !takes("per-worker"))
      return misunderstood(
          app, "only 'run', 'launch', 'submit', 'kv' and 'per-worker' accept arguments after --");
    return printed(app, chosen.run ? chosen.run() : exit_ok);
  } catch (request_error const& e) {
    auto const& verb = innermost(app);
    return complain(app, with_flags(verb, e.what(), e.end().field) + hint_for(verb, e.end()),
                    e.status());
  } catch (command_error const& e) {
    return complain(app, e.what(), e.status());
  } catch (CLI::RuntimeError const& e) {
    return e.get_exit_code();
  } catch (CLI::ExtrasError const&) {  // CLI11 lists the arguments in the wrong order
    return misunderstood(app, unexpected_arguments(app, innermost(app)).what());
  } catch (CLI::RequiredError const& e) {  // an unknown flag can be the cause
    auto const& verb = innermost(app);
    auto const words = verb.remaining();
    auto const unknown = !words.empty() && words.front().starts_with('-');
    return misunderstood(app, unknown ? unexpected_arguments(app, verb).what() : e.what());
  } catch (CLI::ArgumentMismatch const& e) {
    return misunderstood(app, mismatch(e.what()));
  } catch (CLI::ParseError const& e) {
    if (e.get_exit_code() == 0) return printed(app, app.exit(e, std::cout, std::cerr));
    return misunderstood(app, e.what());
  } catch (std::exception const& e) {
    return complain(app, muster::error_text(e), exit_failed);
  }
}
