// muster programs: lists, shows, stops, cancels or restarts programs.
#include <iostream>
#include <optional>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/programs/attempt_text.hpp"
#include "cli/programs/compare.hpp"
#include "cli/programs/program_lookup.hpp"
#include "cli/programs/rank_log_reader.hpp"
#include "cli/programs/stacks.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

struct programs_options : server_options {
  std::vector<std::string> words;
  std::size_t limit = 50;
  std::optional<std::uint32_t> rank, attempt;
  bool follow = false;
  std::string at_step;
};

std::string ranks_in_short(json::value const& p) {
  auto const all = count_of(p, "ranks");
  return has_ended(p) ? std::to_string(all)
                      : std::to_string(count_of(p, "alive")) + " of " + std::to_string(all);
}

void list(rest& server, programs_options const& o) {
  bool more = false;
  auto const all = server.some("/api/v1/programs?", "programs", o.limit, &more);
  if (printed_as_json(o.output, all)) return;
  table rows({"ID", "NAME", "STATE", right("RANKS"), right("ATTEMPT"), "WHY"});
  for (auto const& p : all) {
    auto const why = text_of(p, "waits_for");
    rows.add({text_of(p, "id"), for_terminal(text_of(p, "name")), text_of(p, "state"),
              ranks_in_short(p), text_of(p, "attempt"),
              for_terminal(why.empty() ? text_of(field_of(p, "cause"), "text") : why, 60)});
  }
  rows.print(std::cout);
  if (all.empty()) std::cerr << "no program yet; start one with 'muster launch'\n";
  if (more) std::cerr << "there are more programs; raise --limit to see them\n";
}

std::string steps_in_short(json::value const& steps) {
  auto const least = text_of(steps, "least"), most = text_of(steps, "most");
  auto const each = text_of(steps, "median_ms");
  return least + (least == most ? "" : " to " + most) +
         (each.empty() ? "" : ", " + each + " ms per step");
}

std::string slow_text(json::value const& s) {
  auto text = "rank " + text_of(s, "rank") + " on " + for_terminal(text_of(s, "host")) + ": ";
  if (text_of(s, "chronic") == "true") {
    text += text_of(s, "percent") + "% behind, step after step";
    if (auto const n = number_of(s, "attempts"); n > 1)
      text += "; the same host in " + std::to_string(n) + " attempts";
    if (auto const n = number_of(s, "runs"); n > 1)
      text += "; the same host in " + std::to_string(n) + " programs";
    text += "; run 'muster cordon " + for_terminal(text_of(s, "worker")) +
            "' to exclude this worker from the next attempt";
  } else {
    text += "step " + text_of(s, "step") + " took " + text_of(s, "took_ms") + " ms instead of " +
            text_of(s, "usual_ms");
    if (auto const n = number_of(s, "odd_steps"); n > 1)
      text += ", one of " + std::to_string(n) + " slow steps";
  }
  return text;
}

void show(rest& server, std::string const& path, programs_options const& o) {
  auto const p = server.get(path);
  if (printed_as_json(o.output, p)) return;
  std::cout << "program  " << title_of(p) << '\n'
            << "command  " << for_terminal(texts_of(p, "command", " ")) << '\n'
            << "state    " << text_of(p, "state") << ", attempt " << text_of(p, "attempt") << '\n';
  if (auto const own = text_of(p, "coordination_cluster"); !own.empty())
    std::cout << "cluster  " << own << '\n';
  if (auto const why = text_of(p, "waits_for"); !why.empty())
    std::cout << "waits    " << for_terminal(why) << '\n';
  if (auto const cause = cause_of(p); !cause.empty()) std::cout << "because  " << cause << '\n';
  if (auto const at = text_of(p, "stop_at_step"); !at.empty() && text_of(p, "finished_ms").empty())
    std::cout << "stops    after step " << at << '\n';
  if (auto const& steps = field_of(p, "steps"); steps.is_object()) {
    std::cout << "steps    " << steps_in_short(steps) << '\n';
    for (auto const& s : list_of(steps, "slow")) std::cout << "slow     " << slow_text(s) << '\n';
  }
  if (auto const hang = text_of(field_of(p, "hang"), "text"); !hang.empty())
    std::cout << "hangs    " << for_terminal(hang) << '\n';
  for (auto const& loss : losses_of(p)) std::cout << "lost     " << loss << '\n';
  if (number_of(p, "attempt") == 0) return;
  auto const answer = server.get(path + "/ranks?last_lines=true");
  auto const& ranks = list_of(answer, "ranks");
  if (auto const why = without_preload(ranks); !why.empty())
    std::cout << "preload  " << why << '\n';
  table rows({"RANK", "STATE", "WORKER", "HOST", right("PID"), right("STEP"), "END", "LAST LINE"});
  for (auto const& r : ranks)
    rows.add({rank_label_of(r).substr(5), is_true(r, "worker_lost") ? "LOST" : text_of(r, "state"),
              text_of(r, "worker"), for_terminal(text_of(r, "host")), text_of(r, "pid"),
              text_of(r, "step"), for_terminal(how_it_ended(r), 60),
              for_terminal(text_of(r, "last_line"), 80)});
  rows.print(std::cout);
}

void check_flags(parsed_action const& words, programs_options const& o) {
  if (words.action() != "logs" && (o.follow || o.rank))
    throw words.wrong("only 'muster programs logs' accepts --follow and --rank");
  if (words.action() != "logs" && words.action() != "show" && o.attempt)
    throw words.wrong("only 'muster programs logs' and 'show' accept --attempt");
}

std::string stops_after(json::value const& p, programs_options const& o) {
  if (o.at_step.empty()) return {};
  return ", all ranks stop after step " + text_of(field_of(p, "steps"), "stop_after");
}

std::string at_step_of(std::string const& text, std::string const& action) {
  if (text.empty()) return {};
  if (action != "stop")
    throw command_error(exit_usage, "--at-step: only 'muster programs stop' accepts it");
  if (text == "next") return R"({"at_step":"next"})";
  auto const step = parse_number(text);
  if (!step)
    throw command_error(exit_usage, "--at-step " + text + ": write the number of a step, or next");
  return R"({"at_step":)" + std::to_string(*step) + "}";
}

int run_programs(programs_options& o) {
  parsed_action const words("programs", o.words,
                            {{"list", 0},
                             {"show", 1},
                             {"logs", 1},
                             {"stacks", 1},
                             {"compare", 2},
                             {"stop", 1},
                             {"cancel", 1},
                             {"restart", 1}});
  check_flags(words, o);
  rest server(o.rest);
  auto const& action = words.action();
  if (action == "list") {
    list(server, o);
    return exit_ok;
  }
  if (action == "compare") {
    auto const both = comparison(server, words.need(0, "PROGRAM or PROGRAM#ATTEMPT"),
                                 words.need(1, "PROGRAM or PROGRAM#ATTEMPT"));
    if (!printed_as_json(o.output, both)) std::cout << comparison_text(both);
    return exit_ok;
  }
  auto const path = path_of_program(server, words.need(0, "NAME or ID"));
  if (action == "show" && o.attempt) {
    auto const a = server.get(path + "/attempts/" + std::to_string(*o.attempt));
    if (!printed_as_json(o.output, a)) std::cout << attempt_text(a);
  } else if (action == "show") {
    show(server, path, o);
  } else if (action == "logs") {
    print_program_logs(server, path, o.rank, o.attempt, o.follow);
  } else if (action == "stacks") {
    auto const all = server.get(path + "/stacks");
    if (!printed_as_json(o.output, all)) std::cout << stacks_text(all);
  } else {
    auto const p = server.post(path + "/" + action, at_step_of(o.at_step, action));
    if (!printed_as_json(o.output, p))
      std::cout << title_of(p) << " is " << text_of(p, "state") << stops_after(p, o) << '\n';
  }
  return exit_ok;
}

}  // namespace

void add_programs(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(app, chosen, "programs",
                                  "List, show, stop, cancel or restart programs", run_programs);
  add_value(*verb, "action", o->words,
            "list | show PROGRAM | logs PROGRAM | stacks PROGRAM | compare A B | stop PROGRAM | "
            "cancel PROGRAM | "
            "restart PROGRAM",
            "What to do, with a name or an id (list)");
  add_count(*verb, "--limit", o->limit, "Maximum number of entries to list", 1);
  verb->add_flag("--follow", o->follow,
                 "logs: print further lines until the program, or the selected attempt, ends");
  add_value(*verb, "--rank", o->rank, "N", "logs: print only this rank");
  add_number(*verb, "--attempt", o->attempt,
             "logs: print this attempt (default: the last attempt and, with --follow, later "
             "attempts). show: show this attempt, even if it has ended",
             1, UINT32_MAX);
  add_value(*verb, "--at-step", o->at_step, "STEP",
            "stop: step after which all ranks stop, a number or 'next' (muster.step)");
  add_server_options(*verb, *o);
  verb->footer(
      "stacks prints the stack of each rank, without stopping it. Equal stacks are printed\n"
      "together, and the rarest stack is printed first. stop asks the ranks to exit; the program\n"
      "succeeds if all of them exit with status 0. With --at-step, ranks that call muster.step\n"
      "stop after the same step instead of by a signal. cancel ends the program as CANCELLED.\n"
      "restart begins another attempt, which does not count as a restart after a failure. compare\n"
      "prints the differences between two programs, or attempts of them (train#1 train#2): times,\n"
      "steps, late ranks, settings.\n"
      "Examples:\n"
      "  muster programs show train\n"
      "  muster programs show train --attempt 2\n"
      "  muster programs logs train --rank 3 --attempt 1\n"
      "  muster programs stacks train\n"
      "  muster programs restart train\n"
      "  muster programs compare train prog_0000000000000001");
}

}  // namespace muster::cli
