// Fills a history as a busy server would: a week of charts, hosts and events, and as much of the
// task stream and log lines as fits.
//
//   bench_fill_history DIR [MIB [PROGRAM]]    writes to DIR/history of a data directory, 256 MiB
//                                             by default; PROGRAM adds steps of 64 ranks, ten
//                                             per second
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "server/history/store/history_store.hpp"
#include "server/history/store/records.hpp"
#include "server/hub/id_parsing.hpp"

namespace {

using namespace std::chrono_literals;
using namespace muster::server;
namespace core = muster::core;
using seconds = std::chrono::seconds;

constexpr seconds week = std::chrono::hours(7 * 24);
constexpr std::uint32_t workers = 64, spans_a_second = 1'000;

std::uint64_t random_bits() {
  static std::uint64_t state = 1;
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

std::string spans_of(core::time_point end, muster::history::names& named) {
  core::span_page page;
  for (std::uint32_t i = 0; i < workers; ++i) page.names.lanes.push_back({i, "worker", i, 8});
  for (std::uint32_t i = 0; i < spans_a_second; ++i) {
    core::span_view s;
    s.lane = i % workers;
    s.function = named.of({"f" + std::to_string(random_bits() % 20), {}, {}, false}, end);
    s.started = end - core::duration(random_bits() % 1'000'000);
    s.lasted = core::duration(1'000 + random_bits() % 50'000);
    s.closure = core::closure_id{random_bits()};
    s.job = core::session_id{1 + random_bits() % 100};
    page.spans.push_back(s);
  }
  return encoded({}, page, named);
}

std::string lines_of(core::time_point at) {
  recorded_lines all;  // of the main cluster, which has no name here
  for (int i = 0; i < 200; ++i) {
    log_line l;
    l.at = at;
    l.closure = core::closure_id{random_bits()};
    l.text = "step " + std::to_string(random_bits() % 100'000) + " loss 0." +
             std::to_string(random_bits() % 1'000'000) + " of what was trained";
    l.worker = std::make_shared<std::string const>("worker:" + std::to_string(i % workers));
    all.lines.emplace_back(core::session_id{1 + random_bits() % 100}, std::move(l));
  }
  return encoded(all);
}

std::string machines_of(core::time_point at) {
  std::vector<recorded_machine> all;
  auto const s = static_cast<std::uint32_t>(at.time_since_epoch() / 1s);
  for (std::uint32_t i = 0; i < workers; ++i)
    all.push_back({"default",
                   "worker:" + std::to_string(i),
                   "host" + std::to_string(i / 8),
                   {s, static_cast<float>(random_bits() % 100), 1e9f, 50, 1e9f, 1e6f, 1e6f, 0, 0}});
  return encoded(all);
}

std::string event_of(core::time_point at) {
  return encoded(std::vector<event>{{0,
                                     at,
                                     {core::coordination::severity::info, "task_late", "default",
                                      "worker:" + std::to_string(random_bits() % workers),
                                      "nothing was heard of it for a while"}}});
}

muster::doctor::step_segment steps_of(core::program_id program, core::time_point end) {
  muster::doctor::step_segment s{program, 1, end, end - 1s, end, 0, {}};
  std::vector<muster::doctor::step_span> all;
  for (std::uint32_t rank = 0; rank < workers; ++rank) {
    auto const first = static_cast<std::uint64_t>(end.time_since_epoch() / 1s) * 10;
    auto at = s.first;
    for (std::uint32_t i = 0; i < 10; ++i) {
      auto const took = core::duration(90'000 + random_bits() % 10'000);
      all.push_back({rank, 1, first + i, at += took, took, took});
    }
  }
  s.spans = static_cast<std::uint32_t>(all.size());
  s.bytes = muster::doctor::packed(std::move(all), s.first);
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "bench_fill_history DIR [MIB [PROGRAM]]\n"), 2;
  history_limits limits;
  if (argc > 2) limits.bytes_max = std::strtoull(argv[2], nullptr, 10) << 20;
  auto const program = argc > 3 ? muster::server::parse_program(argv[3]) : std::nullopt;
  limits.waiting_bytes_max = std::size_t{1} << 30;
  auto opened = history_store::open(std::string(argv[1]) + "/" + history_folder, limits,
                                    history_store::access::write);
  if (!opened) return std::fprintf(stderr, "%s\n", opened.error().message.c_str()), 1;
  auto& store = **opened;
  store.start();
  auto const now = std::chrono::floor<core::duration>(std::chrono::system_clock::now());
  core::config const settings;
  muster::history::names named(settings, [](auto const&) {});
  for (auto left = week; left.count() > 0; --left) {
    auto const at = now - left;
    for (std::uint32_t series = 0; auto const step : {1, 10, 60}) {
      if (left.count() % step == 0)
        store.keep({history_kind::points, at, encoded(chart_point{series, at, {1, 2, 3, 4}})});
      ++series;
    }
    if (left.count() % 5 == 0) store.keep({history_kind::machines, at, machines_of(at)});
    if (left.count() % 20 == 0) store.keep({history_kind::events, at, event_of(at)});
    if (left < 6h) store.keep({history_kind::spans, at, spans_of(at, named)});
    if (left < 6h) store.keep({history_kind::lines, at, lines_of(at)});
    if (left < 6h && program)
      store.keep({history_kind::steps, at, encoded(steps_of(*program, at))});
  }
  store.stop();
  return 0;
}
