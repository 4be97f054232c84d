#include "app/history/history_keeper.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <system_error>

#include "server/core/queries/session_queries.hpp"
#include "server/history/activity/activity_pages.hpp"

namespace muster::server {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto every = 1s;
constexpr auto machines_every = 5s;
// Limits per write. The remaining data is written next time.
constexpr std::size_t events_a_look = 1'000, spans_a_look = 20'000;
// Records to read at startup: one per second, and the points shown for each series.
constexpr std::size_t seconds_read = 3'600, machines_read = 720, points_read = 300 + 360 + 1'440;
constexpr std::size_t events_read = 10'000, runs_read = 10'000;

// Size of about 500,000 spans, which are read at startup. Older spans are read on demand, so that
// startup is fast.
constexpr std::size_t spans_bytes_read = std::size_t{10} << 20;

std::string in_words(core::duration d) {
  auto const s = std::chrono::duration_cast<std::chrono::seconds>(d).count();
  if (s < 120) return std::to_string(s) + " s";
  return s < 7'200 ? std::to_string(s / 60) + " min" : std::to_string(s / 3'600) + " h";
}

// Renames an unreadable history, so that it never prevents startup.
muster::result<std::unique_ptr<history_store>> open_or_begin_anew(fs::path const& directory,
                                                                  history_limits const& limits) {
  auto opened = history_store::open(directory, limits, history_store::access::write);
  if (opened) return opened;
  auto const aside = fs::path(directory.string() + ".unreadable");
  std::error_code error;
  fs::remove_all(aside, error);
  fs::rename(directory, aside, error);
  if (error) return opened;
  spdlog::warn("history_unreadable what=\"{}\" put_aside={}", opened.error().message,
               aside.string());
  return history_store::open(directory, limits, history_store::access::write);
}

}  // namespace

history_keeper::history_keeper(engine_assembly& engine, store_assembly& store)
    : engine_(engine),
      pools_(store.pools()),
      coordination_(store.coordination()),
      next_(engine.context()) {
  store.describe_history([this]() -> std::optional<store_view::kept_history> {
    if (!store_) return {};
    auto const f = store_->facts();
    return store_view::kept_history{f.since, f.bytes, f.dropped, f.unreadable};
  });
}

void history_keeper::restore() {
  open();
  if (store_) read();
}

void history_keeper::open() {
  auto const& limits = engine_.config.history.limits;
  auto const directory = engine_.config.history_directory();
  if (directory.empty() || limits.bytes_max == 0) return;
  bool const looks = engine_.config.is_read_only();
  auto opened = looks ? history_store::open(directory, limits, history_store::access::read)
                      : open_or_begin_anew(directory, limits);
  if (looks && !opened)
    return spdlog::warn("history_unreadable what=\"{}\"", opened.error().message);
  if (opened)
    store_ = std::move(*opened);
  else
    engine_.add_log_event({core::coordination::severity::warning,
                           "history_failed",
                           {},
                           {},
                           "the history is not stored and will be lost when the server stops: " +
                               opened.error().message});
}

template <class Decode, class Take>
void history_keeper::read_records(history_kind kind, core::time_point since,
                                  history_store::amount most, Decode const& decode,
                                  Take const& take) {
  store_->read(kind, since, most, [&](history_place at, std::string_view bytes) {
    take(store_->decoded(kind, at, bytes, decode));
  });
}

void history_keeper::read() {
  auto const begun = std::chrono::steady_clock::now();
  auto const since = engine_.clock.now() - engine_.config.history.limits.age;
  std::size_t events = 0, spans = 0;
  read_records(history_kind::events, since, {events_read}, events_from, [&](auto all) {
    for (auto& e : all) engine_.events().add(e.at, std::move(e.what)), ++events;
  });
  read_records(history_kind::points, since, {points_read}, point_from, [this](auto const& p) {
    if (p.at != core::time_point{}) points_.push_back(p);
  });
  read_records(history_kind::machines, since, {machines_read}, machines_from, [this](auto all) {
    for (auto const& m : all)
      if (auto const h = pools_.named(m.cluster))
        (*h)->machines().restore(m.task, m.host, m.sample);
  });
  read_records(history_kind::spans, since, {seconds_read, spans_bytes_read}, spans_from,
               [&](auto const& all) {
                 auto const h = pools_.named(all.cluster);
                 if (!h) return;
                 for (auto const& s : all.spans) (*h)->past().restore(s), ++spans;
               });
  read_lines(since);
  read_records(history_kind::runs, since, {runs_read}, runs_from, [this](auto all) {
    for (auto& [cluster, run] : all)
      if (auto const c = coordination_.state().find(cluster))
        coordination_.remember(*c, std::move(run));
  });
  read_steps();
  pools_.for_each([this](hub& h) { spans_kept_[h.cluster()] = h.past().activity().recorded(); });
  auto const took = std::chrono::steady_clock::now() - begun;
  spdlog::info("restored history={} events={} spans={} points={} took_ms={}",
               engine_.config.history_directory().string(), events, spans, points_.size(),
               std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  report_unreadable();
}

// Called repeatedly, because later reads can find more damaged records.
void history_keeper::report_unreadable() {
  auto const rows = store_->facts().unreadable;
  if (rows == std::exchange(unreadable_reported_, rows)) return;
  engine_.add_log_event({core::coordination::severity::warning,
                         "history_records_unreadable",
                         {},
                         engine_.config.history_directory().string(),
                         std::to_string(rows) +
                             (rows == 1 ? " history record is" : " history records are") +
                             " damaged and cannot be shown"});
}

// Reads only the last ten minutes: an active rank has made a step since then, or its worker reports
// the last step again.
void history_keeper::read_steps() {
  constexpr core::duration newest = std::chrono::minutes(10);
  read_records(history_kind::steps, store_->newest() - newest,
               {.bytes_max = doctor::step_log::bytes_max}, steps_from, [this](auto const& s) {
                 if (s.program != core::program_id{})
                   pools_.of(s.program).programs().steps().restore(s);
               });
}

// Reads output only of existing jobs. Most output belongs to other jobs and would never be removed.
void history_keeper::read_lines(core::time_point since) {
  std::size_t jobs = 0;
  pools_.for_each([&jobs](hub& h) { jobs += h.past().jobs().size(); });
  if (jobs == 0) return;
  auto const of_known_jobs = [this](std::string_view bytes, std::size_t* unreadable) {
    return lines_from(bytes, unreadable,
                      [this](core::session_id job) { return pools_.of(job).state().knows(job); });
  };
  store_->scan(history_kind::lines, {since, 0}, [&](history_place at, std::string_view bytes) {
    auto all = store_->decoded(history_kind::lines, at, bytes, of_known_jobs);
    if (all.lines.empty()) return true;
    if (auto const h = pools_.named(all.cluster))
      for (auto& [job, line] : all.lines) (*h)->logs().add(job, std::move(line));
    return true;
  });
}

void history_keeper::begin() {
  if (!store_) return;
  reader_.start(*store_);
  if (engine_.config.is_read_only()) return;
  keeps_ = true;
  events_kept_ = engine_.events().last();  // the next event is new and must be stored
  if (auto const last = store_->newest(); last != core::time_point{})
    engine_.add_log_event(
        {core::coordination::severity::info,
         "server_started",
         {},
         {},
         "the server was restarted; the previous process last wrote its history " +
             in_words(engine_.clock.now() - last) + " ago"});
  machines_kept_ = engine_.clock.now();
  for (auto const c : coordination_.state().ids())
    if (auto const& past = coordination_.state().past(c); !past.empty())
      runs_kept_[c] = past.front().number;
  pools_.for_each([](hub& h) { (void)h.past().take_ended_jobs(); });
  store_->start();
  look();
}

void history_keeper::look() {
  report_unreadable();
  keep_events();
  keep_machines();
  keep_spans();
  keep_lines();
  keep_runs();
  keep_jobs();
  keep_steps();
  next_.call_at(coro::timer::clock::now() + every, [this] { look(); });
}

void history_keeper::keep_events() {
  auto const some = engine_.events().after(events_kept_, events_a_look);
  if (some.empty()) return;
  events_kept_ = some.back().number;
  store_->keep({history_kind::events, some.back().at, encoded(some)});
}

void history_keeper::keep_machines() {
  auto const now = engine_.clock.now();
  if (now - machines_kept_ < machines_every) return;
  std::vector<recorded_machine> some;
  pools_.for_each([&](hub& h) {
    for (auto const& [task, row] : h.machines().all())
      if (row.seen > machines_kept_ && !row.ring.empty())
        some.push_back({h.cluster(), task, row.newest.host, history::machines::newest_sample(row)});
  });
  machines_kept_ = now;
  if (!some.empty()) store_->keep({history_kind::machines, now, encoded(some)});
}

void history_keeper::keep_spans() {
  pools_.for_each([this](hub& h) {
    auto& at = spans_kept_[h.cluster()];
    auto const page = history::spans(h.past(), {}, at, spans_a_look, engine_.clock.now());
    at = page.next;
    if (!page.spans.empty())
      store_->keep(
          {history_kind::spans, engine_.clock.now(), encoded(h.cluster(), page, h.past().named())});
  });
}

void history_keeper::keep_lines() {
  pools_.for_each([this](hub& h) {
    recorded_lines const some{h.cluster(), h.logs().take_new_lines()};
    if (!some.lines.empty())
      store_->keep({history_kind::lines, engine_.clock.now(), encoded(some)});
  });
}

// Drops the runs of removed clusters, because cluster names can be reused.
void history_keeper::keep_runs() {
  auto const& all = coordination_.state();
  std::erase_if(runs_kept_, [&all](auto const& r) { return !all.exists(r.first); });
  std::vector<recorded_run> some;
  for (auto const c : all.ids()) {
    auto const& past = all.past(c);
    if (past.empty()) continue;
    auto& kept = runs_kept_[c];
    for (auto run = past.rbegin(); run != past.rend(); ++run)
      if (run->number > kept) some.push_back({all.spec(c).name, *run});
    kept = past.front().number;
  }
  if (!some.empty()) store_->keep({history_kind::runs, engine_.clock.now(), encoded(some)});
}

void history_keeper::keep_jobs() {
  pools_.for_each([this](hub& h) {
    std::vector<core::job_view> some;
    for (auto const id : h.past().take_ended_jobs())
      if (auto one = h.state().sessions().find(id)) some.push_back(std::move(*one));
    if (!some.empty()) store_->keep({history_kind::jobs, engine_.clock.now(), encoded(some)});
  });
}

void history_keeper::keep_steps() {
  auto const now = engine_.clock.now();
  pools_.for_each([&](hub& h) {
    for (auto const& s : h.programs().steps().log().take_new(now))
      store_->keep({history_kind::steps, now, encoded(*s)});
  });
}

void history_keeper::keep(chart_point const& p) {
  if (keeps_) store_->keep({history_kind::points, p.at, encoded(p)});
}

void history_keeper::finish() {
  if (!keeps_) return;
  next_.cancel();
  keep_events();
  keep_spans();
  keep_lines();
  keep_runs();
  keep_jobs();
  keep_steps();
}

void history_keeper::stop() {
  reader_.stop();
  if (store_) store_->stop();
}

}  // namespace muster::server
