// muster events: what happened, and what happens.
#include <ctime>
#include <iomanip>
#include <iostream>
#include <thread>

#include "cli/command.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

struct events_options : server_options {
  bool follow = false;
  std::optional<std::uint64_t> after;
  std::size_t limit = 100;
};

constexpr auto look_again_after = std::chrono::milliseconds(500);

std::string local_time(std::int64_t ms) {
  auto const seconds = static_cast<std::time_t>(ms / 1000);
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

void print(json::value const& e, output_format output) {
  if (printed_as_json(output, e)) return;
  auto const cluster = text_of(e, "cluster");
  auto const subject = text_of(e, "subject");
  std::cout << local_time(number_of(e, "time_ms")) << "  " << std::left << std::setw(7)
            << text_of(e, "severity") << "  " << (cluster.empty() ? "" : cluster + "  ")
            << text_of(e, "kind") << "  "
            << (subject.empty() ? "" : for_terminal(subject, 64) + "  ")
            << for_terminal(text_of(e, "text")) << '\n';
}

// Prints what is newer than `after`; gives the number of the newest.
std::uint64_t look(rest& server, events_options const& o, std::optional<std::uint64_t> after) {
  auto path = "/api/v1/events?limit=" + std::to_string(after ? 1000 : o.limit);
  if (after) path += "&after=" + std::to_string(*after);
  auto const answer = server.get(path);
  auto const first = count_of(answer, "first");
  auto const last = count_of(answer, "last");
  if (after && last < *after) {
    std::cerr << "the server was restarted; its events begin again\n";
    return 0;
  }
  if (after && first > *after + 1)
    std::cerr << first - *after - 1 << " older events are forgotten\n";
  auto newest = after.value_or(last);
  for (auto const& e : list_of(answer, "events")) {
    print(e, o.output);
    newest = count_of(e, "number");
  }
  std::cout << std::flush;
  return newest;
}

int run_events(events_options& o) {
  rest server(o.rest);
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
  verb->add_flag("--follow", o->follow, "Go on printing what happens");
  add_value(*verb, "--after", o->after, "N", "Only events with a greater number");
  add_count(*verb, "--limit", o->limit, "How many of the newest, without --after; 1000 at most");
  add_server_options(*verb, *o);
  verb->footer(
      "With --output json each event is a line.\n"
      "Examples:\n  muster events --follow\n  muster events --after 120 --output json");
}

}  // namespace muster::cli
