// Two loops, each with a connection of its own: results in schedule order on a second thread, lines
// and the bar here. They share the screen.
#include "cli/follow.hpp"

#include <atomic>
#include <future>
#include <iostream>

#include "cli/log_lines.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"
#include "cli/waiting_reason.hpp"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr auto redraw_every = 200ms;
constexpr auto look_every = 1s;  // where nothing is drawn
// So often the results look whether they are still wanted.
constexpr auto results_patience = 1s;

void print_results_until(std::atomic<bool> const& unwanted, rest_options const& to,
                         std::string const& id, result_printer& printer, screen& shared) {
  rest server(to);
  std::size_t next = 0;
  auto const take = [&](std::string_view line) {
    if (!line.empty()) {
      shared.above([&] {
        printer.print(line);
        std::cout.flush();
      });
      ++next;
    }
    return std::cout.good() && !unwanted;  // whoever reads our output may have gone away
  };
  bool whole = false;
  while (!whole && !unwanted && std::cout)
    whole = server.stream_within(
        "/api/v1/jobs/" + percent_encoded(id) + "/results?wait=true&from=" + std::to_string(next),
        results_patience, take);
}

// Until the job has ended and all its lines are told.
void print_lines(rest& server, std::string const& id, follow_options const& o, screen& shared) {
  auto const deadline = o.timeout ? steady::now() + *o.timeout : steady::time_point::max();
  auto const pause = shared.drawing() ? duration(redraw_every) : duration(look_every);
  progress_text text;
  waiting_reason reason(server, id, steady::now());
  std::uint64_t after = 0;
  for (;;) {
    auto const left = std::chrono::floor<duration>(deadline - steady::now());
    auto const look = look_at_log(server, id, after, std::clamp(left, duration(1ms), pause));
    after = look.after;
    auto const counts = counts_of(server.get("/api/v1/jobs/" + percent_encoded(id)));
    if (!look.lines.empty())
      shared.above([&] {
        for (auto const& line : look.lines) std::cerr << log_text(line, counts.total() > 1) << '\n';
      });
    if (look.ended) return;
    if (auto const news = o.quiet ? std::string() : reason.news(counts, steady::now());
        !news.empty())
      shared.above([&] { std::cerr << for_terminal(news) << '\n'; });
    if (steady::now() >= deadline) throw too_late(id, *o.timeout);
    shared.draw(text.bar(counts, steady::now()));
  }
}

}  // namespace

json::value follow_job(rest& server, std::string const& id, follow_options const& o) {
  screen shared(o.quiet);
  result_printer printer(o.output);
  std::atomic<bool> unwanted = false;
  auto results = std::async(std::launch::async,
                            [&] { print_results_until(unwanted, o.rest, id, printer, shared); });
  try {
    print_lines(server, id, o, shared);
  } catch (...) {
    unwanted = true;  // and the thread is waited for
    throw;
  }
  results.get();
  shared.above([&] { printer.finish(); });
  return server.get("/api/v1/jobs/" + percent_encoded(id));
}

}  // namespace muster::cli
