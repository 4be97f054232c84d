// Sinks that note down what the hub tells them.
#pragma once

#include <string>
#include <vector>

#include "server/hub/hub.hpp"

namespace muster::server {

struct recording_worker : worker_sink {
  void on_welcome(core::welcome const& w) override { index = w.index; }
  void on_dispatch(std::span<core::assignment const> b) override {
    held.insert(held.end(), b.begin(), b.end());
  }
  void on_stop(core::stop_request const& s) override { stops.push_back(s.closure); }
  void on_recall(core::recall_request const& r) override { recalls.push_back(r.closure); }
  void on_drop(core::per_worker_id v) override { dropped.push_back(v); }
  void on_drain() override { drained = true; }
  void on_disconnect(muster::status const& why, bool f) override {
    ended = why;
    final = f;
  }
  std::int64_t index = -1;
  std::vector<core::assignment> held;
  std::vector<core::closure_id> stops;
  std::vector<core::closure_id> recalls;
  bool drained = false, final = false;
  std::vector<core::per_worker_id> dropped;
  muster::status ended;
};

struct recording_session : session_sink {
  void on_outcome(core::outcome const& o) override { tokens.push_back(o.token); }
  void on_notice(core::session_notice const& n) override { notices.push_back(n.kind); }
  void on_gone(muster::status const& why) override { gone = why.message; }
  void on_taken_over() override { taken_over = true; }
  void on_lost(muster::status const& why) override { lost = why.message; }
  std::string gone, lost;
  bool taken_over = false;
  std::vector<std::uint64_t> tokens;
  std::vector<core::notice_kind> notices;
};

}  // namespace muster::server
