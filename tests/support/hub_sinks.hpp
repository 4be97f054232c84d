// Workers and sessions of a hub that record messages. Workers answer when the test asks for it.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/hub/hub.hpp"

namespace muster::server {

struct hub_worker : worker_sink {
  /// Attaches a worker, by default with function "f" and a new incarnation.
  core::stream_id attach(hub& h, core::worker_spec spec = {}) {
    stream = h.attach(*this);
    if (spec.functions.empty()) spec.functions = {"f"};
    if (spec.incarnation == core::incarnation{})
      spec.incarnation = core::incarnation{core::raw(stream) + 77};
    h.apply(core::worker_attached{stream, std::move(spec)});
    return stream;
  }
  using answering = std::function<void(core::worker_result&, core::blob args)>;
  /// Answers the `n` oldest closures.
  void answer(hub& h, answering const& fill,
              std::size_t n = std::numeric_limits<std::size_t>::max()) {
    auto const end = held.begin() + static_cast<std::ptrdiff_t>(std::min(n, held.size()));
    std::vector<core::assignment> const oldest(held.begin(), end);
    held.erase(held.begin(), end);
    core::worker_results all;
    all.stream = stream;
    for (auto const& a : oldest) {
      auto& r = all.results.emplace_back();
      r.closure = a.closure;
      r.attempt = a.attempt;
      fill(r, a.args);
    }
    h.apply(all);
  }
  void succeed(hub& h, std::string const& value = "2",
               std::size_t n = std::numeric_limits<std::size_t>::max()) {
    answer(
        h, [&](core::worker_result& r, core::blob const&) { r.value = core::blob(value); }, n);
  }

  void on_welcome(core::welcome const& w) override { index = w.index; }
  void on_dispatch(std::span<core::assignment const> b) override {
    held.insert(held.end(), b.begin(), b.end());
  }
  void on_stop(core::stop_request const& s) override { stops.push_back(s.closure); }
  void on_retract(core::retract_request const& r) override { retractions.push_back(r.closure); }
  void on_drop(core::per_worker_id v) override { dropped.push_back(v); }
  void on_drain() override { drained = true; }
  void on_disconnect(muster::status const& why, bool f) override {
    ended = why;
    final = f;
    attached = false;
  }

  core::stream_id stream{};
  bool attached = true;
  std::int64_t index = -1;
  std::vector<core::assignment> held;
  std::vector<core::closure_id> stops;
  std::vector<core::closure_id> retractions;
  bool drained = false, final = false;
  std::vector<core::per_worker_id> dropped;
  muster::status ended;
};

struct recording_session : session_sink {
  void on_outcome(core::outcome const& o) override { tokens.push_back(o.token); }
  void on_notice(core::session_notification const& n) override { notices.push_back(n.kind); }
  void on_removed(muster::status const& why) override { gone = why.message; }
  void on_replaced() override { taken_over = true; }
  void on_journal_failure(muster::status const& why) override { lost = why.message; }
  std::string gone, lost;
  bool taken_over = false;
  std::vector<std::uint64_t> tokens;
  std::vector<core::notice_kind> notices;
};

}  // namespace muster::server
