// muster logs: prints the log and the output of a closure, or of all closures of a job.
#include <iostream>

#include "cli/command.hpp"
#include "cli/log_lines.hpp"
#include "cli/past/log_search.hpp"
#include "cli/programs/rank_log_reader.hpp"
#include "cli/progress.hpp"
#include "cli/words/targets.hpp"

namespace muster::cli {
namespace {

struct logs_options : server_options {
  std::vector<std::string> words;
  std::string id;
  bool follow = false;
  std::uint64_t tail = 0;
  log_search search;
};

constexpr std::initializer_list<target> logged{target::closure, target::job, target::program};

constexpr auto one_look = std::chrono::seconds(30);

bool has_several(rest& server, std::string const& id) {
  return id.starts_with("job_") &&
         counts_of(server.get("/api/v1/jobs/" + percent_encoded(id))).total() > 1;
}

int run_logs(logs_options& o) {
  if (o.words.front() == "search") return search_logs(o, o.search, o.words);
  if (o.words.size() > 1)
    throw command_error(exit_usage, "logs needs one id or name, or 'search TEXT'");
  o.id = o.words.front();
  rest server(o.rest);
  auto const what = find_target(server, o.id, logged, {.cluster = o.search.cluster});
  o.id = what.id;
  if (what.kind == target::program) {
    print_program_logs(server, what.path, o.search.rank, o.search.attempt, o.follow);
    return exit_ok;
  }
  bool several = o.output == output_format::table && has_several(server, o.id);
  line_printer print;
  auto look = read_log_page(server, o.id, 0, {}, o.tail);
  if (look.dropped > 0)
    std::cerr << look.dropped
              << (look.dropped == 1 ? " older line was dropped to free space\n"
                                    : " older lines were dropped to free space\n");
  for (;;) {
    for (auto const& line : look.lines) {
      // Closures may be added to an open job.
      several = several || (o.id.starts_with("job_") && number_of(line, "index") > 0);
      if (o.output == output_format::json)
        std::cout << json::serialize(line) << '\n';
      else
        print.line(source_of(line), log_text(line, several), line_has_ended(line));
    }
    std::cout.flush();
    bool const all = look.ended || (!o.follow && (look.lines.empty() || o.tail > 0));
    if (all || !std::cout) return exit_ok;
    look = read_log_page(server, o.id, look.after, o.follow ? duration(one_look) : duration{});
  }
}

}  // namespace

void add_logs(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "logs", "Print the output of a closure, a job or a program", run_logs);
  add_value(*verb, "what", o->words, target_words(logged) + " | search TEXT",
            "Id or name of a closure, a job (all its closures) or a program (the ranks of its last "
            "attempt). search: find lines of closures or, with --program, of ranks")
      ->required();
  verb->add_flag("--follow", o->follow,
                 "Print further lines until the closure, job or program ends");
  add_number(*verb, "--tail", o->tail, "Begin with the newest N lines, at most 1000 (default: all)",
             1, 1000);
  add_log_search(*verb, o->search);
  add_server_options(*verb, *o);
  verb->footer(
      "Lines of a job with several closures begin with the index of the closure and its worker. "
      "Lines\n"
      "of later attempts begin with the number of the attempt. With --output json each line is an\n"
      "object.\n"
      "Examples:\n"
      "  muster logs job_0000000000000001 --follow\n"
      "  muster logs cl_0000000100000002 --tail 20\n"
      "  muster logs search 'out of memory' -i --from 12h\n"
      "  muster logs search NaN --program train");
}

}  // namespace muster::cli
