// muster events: prints past events and follows new events.
#include <iomanip>
#include <iostream>
#include <thread>

#include "cli/command.hpp"
#include "cli/past/moments.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

struct events_options : server_options {
  bool follow = false;
  std::optional<std::uint64_t> after;
  std::optional<std::size_t> limit;
  time_range when;
};

constexpr std::size_t newest_shown = 100, past_shown = 10'000;

constexpr auto look_again_after = std::chrono::milliseconds(500);

void print_event(json::value const& e, output_format output) {
  if (printed_as_json(output, e)) return;
  auto const cluster = text_of(e, "cluster");
  auto const subject = text_of(e, "subject");
  std::cout << local_time(number_of(e, "time_ms")) << "  " << std::left << std::setw(7)
            << text_of(e, "severity") << "  " << (cluster.empty() ? "" : cluster + "  ")
            << text_of(e, "kind") << "  "
            << (subject.empty() ? "" : for_terminal(subject, 64) + "  ")
            << for_terminal(text_of(e, "text")) << '\n';
}

std::uint64_t look(rest& server, events_options const& o, std::optional<std::uint64_t> after) {
  auto path =
      "/api/v1/events?limit=" + std::to_string(after ? 1000 : o.limit.value_or(newest_shown));
  if (after) path += "&after=" + std::to_string(*after);
  auto const answer = server.get(path);
  auto const first = count_of(answer, "first");
  auto const last = count_of(answer, "last");
  if (after && last < *after) {
    std::cerr << "the server was restarted; its events start again at number 1\n";
    return 0;
  }
  if (after && first > *after + 1)
    std::cerr << first - *after - 1
              << (first - *after == 2 ? " older event was deleted\n"
                                      : " older events were deleted\n");
  auto newest = after.value_or(last);
  for (auto const& e : list_of(answer, "events")) {
    print_event(e, o.output);
    newest = count_of(e, "number");
  }
  std::cout << std::flush;
  return newest;
}

int print_past(rest& server, events_options const& o) {
  bool more = false;
  auto const path = "/api/v1/events?" + o.when.query(server);
  for (auto const& e : server.some(path, "events", o.limit.value_or(past_shown), &more))
    print_event(e, o.output);
  if (more) std::cerr << "there are more events; raise --limit to see them\n";
  return exit_ok;
}

int run_events(events_options& o) {
  rest server(o.rest);
  if (o.when.given()) return print_past(server, o);
  auto newest = look(server, o, o.after);
  while (o.follow && std::cout) {
    std::this_thread::sleep_for(look_again_after);
    newest = look(server, o, newest);
  }
  return exit_ok;
}

}  // namespace

void add_events(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "events", "Print what happened: tasks, barriers, failures", run_events);
  verb->add_flag("--follow", o->follow, "Print further events as they happen");
  add_value(*verb, "--after", o->after, "N", "Print only events whose number is greater than N");
  add_time_range(*verb, o->when, "Also print events from before the start of the server");
  for (auto const* time : {"--from", "--to"})
    verb->get_option(time)->excludes("--follow")->excludes("--after");
  add_number(*verb, "--limit", o->limit,
             "Maximum number of events, at most 1000 (100): the newest if --after is not given. "
             "With --from or --to: the oldest (10,000)",
             1, UINT32_MAX);
  add_server_options(*verb, *o);
  verb->footer(
      "With --output json each event is a line.\n"
      "Examples:\n  muster events --follow\n  muster events --from 03:10 --to 03:15\n  muster "
      "events --after "
      "120 --output json");
}

}  // namespace muster::cli
