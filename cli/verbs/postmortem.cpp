// muster postmortem: writes a report on a program or a job as one HTML file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <optional>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/postmortem/gather.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

struct postmortem_options {
  rest_options rest;
  std::string name, file, cluster;
  bool program = false, job = false;
};

struct found {
  std::string path{}, id{};
  std::size_t others = 0;  // number of older subjects with this name
};

// Finds the subject with this ID, or else the newest subject with this name. `all` is a path such
// as /api/v1/programs, whose answers contain `key`.
std::optional<found> find(rest& server, std::string const& all, std::string const& key,
                          postmortem_options const& o) {
  auto const direct = all + "/" + percent_encoded(o.name);
  if (auto const answer = server.send("GET", direct); answer.ok())
    return found{direct, o.name};
  else if (answer.status != 404 && answer.status != 400)
    throw rest::problem(answer);
  std::optional<found> newest;
  for (auto const& one : server.some(
           all + "?q=" + percent_encoded(o.name) + "&" + of_cluster(o.cluster), key, 10'000)) {
    if (text_of(one, "name") != o.name) continue;
    if (newest)
      ++newest->others;
    else
      newest = found{all + "/" + percent_encoded(text_of(one, "id")), text_of(one, "id")};
  }
  return newest;
}

void throw_failed(std::string const& file) {
  throw command_error(exit_failed, "cannot write " + file + ": " + std::strerror(errno));
}

// Replaces the file atomically by renaming a temporary file. Only the owner can read it, because
// logs may contain secrets.
void write(std::string const& file, std::string const& text) {
  struct stat there {};
  if (::stat(file.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    throw command_error(exit_failed, "cannot write " + file + ": it is not a regular file");
  auto part = file + ".XXXXXX";
  int const fd = ::mkostemp(part.data(), O_CLOEXEC);
  if (fd < 0) throw_failed(file);
  std::size_t done = 0;
  ssize_t n = 1;
  for (; done < text.size() && n > 0; done += n > 0 ? static_cast<std::size_t>(n) : 0)
    n = ::write(fd, text.data() + done, text.size() - done);
  bool const whole = done == text.size() && ::fsync(fd) == 0;
  int const why = errno;
  ::close(fd);
  errno = why;
  if (whole && ::rename(part.c_str(), file.c_str()) == 0) return;
  int const failed = errno;
  ::unlink(part.c_str());
  errno = failed;
  throw_failed(file);
}

struct report {
  std::string on, text, said;
};

report make(rest& server, postmortem_options const& o) {
  std::optional<found> program, job;
  if (!o.job) program = find(server, "/api/v1/programs", "programs", o);
  if (!o.program) job = find(server, "/api/v1/jobs", "jobs", o);
  auto const name = "'" + for_terminal(o.name, 60) + "'";
  if (program && job)
    throw command_error(exit_usage, name + " is the name of a program (" + program->id +
                                        ") and of a job (" + job->id +
                                        "); choose one with --program or --job");
  if (program || job) {
    auto const& it = program ? *program : *job;
    auto const said = it.others == 0 ? std::string()
                                     : "It is the newest of " + std::to_string(it.others + 1) +
                                           (program ? " programs" : " jobs") +
                                           " with this name; to select another one, pass its id.";
    return {it.id,
            program ? postmortem::report_on_program(server, it.path, said)
                    : postmortem::report_on_job(server, it.path, said),
            said};
  }
  auto const slash = o.name.rfind('/');
  auto const run = slash == o.name.npos ? std::nullopt : parse_number(o.name.substr(slash + 1));
  if (run && !o.program && !o.job)
    return {o.name, postmortem::report_on_run(server, o.name.substr(0, slash), *run), {}};
  std::string const what = o.program ? "program" : o.job ? "job" : "program and no job";
  throw command_error(exit_failed, "there is no " + what + " " + name +
                                       "; 'muster programs' and 'muster jobs' list them");
}

int run_postmortem(postmortem_options& o) {
  rest server(o.rest);
  auto const [on, text, said] = make(server, o);
  if (o.file == "-") {
    std::cout << text << std::flush;
    if (!std::cout)
      throw command_error(exit_failed, "cannot write the whole report to standard output");
    return exit_ok;
  }
  write(o.file, text);
  std::cerr << o.file << ": on " << for_terminal(on) << ", " << (text.size() + 1023) / 1024
            << " KiB, readable only by you because it contains printed output"
            << (said.empty() ? "" : ". ") << said << '\n';
  return exit_ok;
}

}  // namespace

void add_postmortem(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(app, chosen, "postmortem",
                                  "Write what happened in a program or a job into one "
                                  "HTML file",
                                  run_postmortem);
  add_value(*verb, "name", o->name, "PROGRAM|JOB", "Name or id, or CLUSTER/RUN")->required();
  add_value(*verb, "-o,--file", o->file, "FILE", "File to write; - is standard output")->required();
  verb->add_flag("--program", o->program, "Interpret the name as the name of a program");
  verb->add_flag("--job", o->job, "Interpret the name as the name of a job")->excludes("--program");
  add_closure_cluster_option(*verb, o->cluster);
  add_rest_options(*verb, o->rest);
  verb->footer(
      "The file begins with a summary: what failed, on which task, where and why. It opens without "
      "a\nserver and has no scripts. It contains the last output of ranks or failed closures, but "
      "no values "
      "of\n"
      "variables, arguments or results. It is written completely or not at all, and only its owner "
      "can\nread it (0600).\n"
      "Examples:\n"
      "  muster postmortem train -o train.html\n"
      "  muster postmortem job_0000000000000001 -o - > job.html\n"
      "  muster postmortem jax/3 -o run.html");
}

}  // namespace muster::cli
