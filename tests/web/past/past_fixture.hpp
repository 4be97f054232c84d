// A server whose history on disk the test has written.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "server/history/store/history_reader.hpp"
#include "server/history/store/records.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {

using namespace std::chrono_literals;
using server::history_kind;

/// An arbitrary noon in Unix ms.
constexpr std::int64_t noon_ms = 1'728'000'000'000;
constexpr core::time_point noon = core::time_point(std::chrono::milliseconds(noon_ms));

inline std::string at(std::chrono::milliseconds after_noon) {
  return std::to_string(noon_ms + after_noon.count());
}

class written_past {
 public:
  written_past() {
    auto opened = server::history_store::open(directory_ / "history", {},
                                              server::history_store::access::write);
    store_ = std::move(*opened);
    store_->start();
  }
  void keep(history_kind kind, core::duration after_noon, std::string bytes) {
    store_->keep({kind, noon + after_noon, std::move(bytes)});
  }
  /// Ends writing, and starts reading.
  server::history_reader& reader() {
    store_->stop();
    if (!reader_.there()) reader_.start(*store_);
    return reader_;
  }

  void event(core::duration after_noon, std::string const& cluster, std::string const& text,
             std::string const& kind = "task_lost") {
    using core::coordination::severity;
    server::event const e{
        9, noon + after_noon, {severity::warning, kind, cluster, "worker:1", text}};
    keep(history_kind::events, after_noon, server::encoded(std::vector{e}));
  }
  void point(std::uint32_t series, core::duration after_noon, float queued, float failed) {
    history::chart_point p{series, noon + after_noon, {}};
    p.figures[history::chart_point::queued] = queued;
    p.figures[history::chart_point::failed] = failed;
    p.figures[history::chart_point::run_p99] = queued;
    keep(history_kind::points, after_noon, server::encoded(p));
  }
  void machine(core::duration after_noon, std::string const& task, std::string const& host,
               float cpu, std::string const& cluster = {}) {
    auto const s =
        std::chrono::duration_cast<std::chrono::seconds>((noon + after_noon).time_since_epoch());
    server::recorded_machine m{cluster, task, host, {static_cast<std::uint32_t>(s.count())}};
    m.sample.cpu = cpu;
    keep(history_kind::machines, after_noon, server::encoded(std::vector{m}));
  }
  void steps(core::duration after_noon, doctor::step_segment const& s) {
    keep(history_kind::steps, after_noon, server::encoded(s));
  }
  void job(core::duration after_noon, std::string const& cluster, std::string const& name) {
    core::job_view j;
    j.id = core::session_id{7};
    j.cluster = cluster;
    j.name = name;
    j.state = core::job_state::failed;
    j.created = noon;
    j.finished = noon + after_noon;
    j.counts.succeeded = 3;
    j.counts.failed = 1;
    j.error.emplace().message = "no such column";
    keep(history_kind::jobs, after_noon, server::encoded(std::vector{j}));
  }
  void run(core::duration after_noon, std::string const& cluster, std::uint64_t number) {
    core::coordination::generation_view g;
    g.number = number;
    g.state = core::coordination::generation_state::failed;
    g.started = noon;
    g.ended = noon + after_noon;
    g.cause = core::coordination::first_cause{"worker:1", "10.0.0.1:1", "ECC error", noon};
    keep(history_kind::runs, after_noon,
         server::encoded(std::vector<server::recorded_run>{{cluster, g}}));
  }
  core::function_id function(std::string const& name) {
    return functions_.of({name, name, {}, false}, noon);
  }
  void spans(core::duration after_noon, std::string const& cluster, core::span_page const& page) {
    keep(history_kind::spans, after_noon, server::encoded(cluster, page, functions_));
  }
  void line(core::duration after_noon, std::string const& cluster, std::string const& text,
            core::session_id job = core::session_id{7}) {
    server::log_line l;
    l.at = noon + after_noon;
    l.closure = core::closure_id{3};
    l.attempt = 1;
    l.level = server::log_level::standard_output;
    l.text = text;
    l.worker = std::make_shared<std::string const>("worker:1");
    keep(history_kind::lines, after_noon,
         server::encoded(server::recorded_lines{cluster, {{job, l}}}));
  }

 private:
  muster::test::temporary_directory directory_;
  std::unique_ptr<server::history_store> store_;
  server::history_reader reader_;
  core::config settings_;
  history::names functions_{settings_, [](auto const&) {}};
};

struct history_fixture : web_fixture {
  written_past past;

  web_options with_history() {
    web_options o;
    o.outlets.past = &past.reader();
    return o;
  }
  void TearDown() override {
    web_fixture::TearDown();
    past.reader().stop();
  }
  /// Returns the texts under `key` in the elements of the array `list`.
  static std::vector<std::string> texts(json::value const& answer, std::string const& list,
                                        std::string const& key) {
    std::vector<std::string> found;
    for (auto const& one : answer.at(list).as_array()) found.emplace_back(one.at(key).as_string());
    return found;
  }
};

}  // namespace muster::web::test
