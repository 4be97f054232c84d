// The `muster` program: declares the verbs, reads the command line, runs the one that was chosen.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "server/cli/command.hpp"
#include "server/cli/layers.hpp"

namespace {

using namespace muster::cli;

int complain(CLI::App const& app, std::string const& what, int status) {
  auto const chosen = app.get_subcommands();
  auto const name = chosen.empty() ? "muster" : "muster " + chosen.front()->get_name();
  auto const hint = status == exit_usage ? " (see '" + name + " --help')" : std::string();
  std::fprintf(stderr, "%s: %s%s\n", name.c_str(), what.c_str(), hint.c_str());
  return status;
}

void add_verbs(CLI::App& app, action& chosen) {
  for (auto* add : {add_serve, add_worker, add_submit, add_jobs, add_fetch, add_cancel, add_explain,
                    add_tasks, add_version})
    add(app, chosen);
#ifdef MUSTER_WITH_BENCH
  muster::bench::add_command(app);
#endif
  layers::install(app);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Muster: calls the roll of a cluster and hands functions out to it.", "muster");
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done, 1 it failed, 2 wrong usage or configuration, 3 no server.\n"
      "Each flag can also be set in the environment (MUSTER_URL for --url) or in a file.");
  action chosen;
  add_verbs(app, chosen);
  try {
    app.parse(argc, argv);
    return chosen ? chosen() : exit_ok;
  } catch (command_error const& e) {
    return complain(app, e.what(), e.status());
  } catch (CLI::RuntimeError const& e) {  // how a verb with its own callback ends
    return e.get_exit_code();
  } catch (CLI::ParseError const& e) {
    if (e.get_exit_code() == 0) return app.exit(e, std::cout, std::cerr);
    return complain(app, e.what(), exit_usage);
  } catch (std::exception const& e) {
    return complain(app, e.what(), exit_failed);
  }
}
