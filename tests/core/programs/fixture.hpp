// A controller with workers that tests control.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/core/programs/controller.hpp"

namespace muster::core::programs {

using namespace std::chrono_literals;

/// Resources of workers, in place of the scheduler.
class model_ledger final : public ledger {
 public:
  struct worker {
    named_amounts free, all;
    named_texts labels;
    bool open = true;
  };
  std::map<stream_id, worker> workers;

  worker_resources find(stream_id s) const override {
    auto const it = workers.find(s);
    if (it == workers.end()) return {};
    auto const& w = it->second;
    return {w.open, &w.free, &w.all, &w.labels};
  }
  bool take(stream_id s, named_amounts const& amounts) override {
    return workers.contains(s) && programs::take(workers.at(s).free, amounts);
  }
  void give_back(stream_id s, named_amounts const& amounts) override {
    if (!workers.contains(s)) return;
    programs::give_back(workers.at(s).free, amounts);
    ++version_;
  }
  std::uint64_t version() const override { return version_; }

 private:
  std::uint64_t version_ = 1;
};

struct process {
  std::uint64_t incarnation = 0;
  std::int64_t index = 0;
  std::string host;
  named_amounts resources;
  std::uint16_t first_port = 20'000, last_port = 20'099;
  std::string address = host;
  bool unpacks = true;
  std::string tunnel_key{};
  bool preloads = true;
  bool torch = true;
};

class bench {
  program_limits const limits_;

 public:
  explicit bench(program_limits limits = {})
      : limits_(limits), core(std::make_unique<controller>(limits, last_id_, resources)) {}

  model_ledger resources;
  std::unique_ptr<controller> core;
  time_point now{std::chrono::seconds(1'700'000'000)};
  static constexpr duration lease = 8s;

  /// Delivers the orders of a step.
  std::function<void()> on_step = [this] {
    for (auto const& o : core->pending_output().orders) sent[o.stream].push_back(o);
  };
  template <class Call>
  auto step(Call call) {
    core->begin_step();
    struct ending {
      bench& b;
      ~ending() {
        b.core->place(b.now);
        EXPECT_EQ(b.core->invalid(), "");
        for (auto const& c : b.core->pending_output().changes)
          b.states[c.program].push_back(c.state);
        b.on_step();
      }
    } end{*this};
    return call();
  }

  /// Streams and undelivered orders are lost.
  void restart(std::vector<restored_program> known) {
    resources.workers.clear();
    sent.clear();
    core = std::make_unique<controller>(limits_, last_id_, resources);
    step([&] { core->restore(now, known); });
  }

  stream_id attach(process const& p, std::vector<held_rank> held = {}) {
    auto const s = stream_id{++last_stream_};
    resources.workers[s] = {p.resources, p.resources, {}};
    programs_offer offer{p.first_port, p.last_port,  lease,      p.address, std::move(held),
                         p.unpacks,    p.tunnel_key, p.preloads, p.torch};
    kept = step([&] {
      return core->attached(now, {s, "worker", p.index, incarnation{p.incarnation}, p.host}, offer);
    });
    return s;
  }
  stream_id attach(std::int64_t index, named_amounts amounts = {}) {
    auto const host = "host" + std::to_string(index);
    return attach({static_cast<std::uint64_t>(index) + 1, index, host, std::move(amounts)});
  }
  void cut(stream_id s) {
    resources.workers.erase(s);
    step([&] { core->worker_disconnected(now, s); });
  }
  program_id submit(program_spec spec) {
    return step([&] { return core->submit(now, std::move(spec)); }).value().program;
  }
  status wish(program_id id, program_command w) {
    return step([&] { return core->wish(now, {{}, id, w, {}}); });
  }
  void report(stream_id s, std::vector<rank_reports::start> started,
              std::vector<rank_end> ended = {}, std::uint64_t number = 0) {
    step([&] { core->reports(now, {s, std::move(started), std::move(ended), number}); });
  }
  void advance_in_touch(duration d) {
    for (auto const until = now + d; now < until;) {
      for (auto const& [s, w] : resources.workers) report(s, {}, {}, ++last_number_);
      advance(std::min<duration>(2s, until - now));
    }
  }
  void advance(duration d) {
    auto const until = now + d;
    while (core->due() <= until) {
      now = std::max(now, core->due());
      step([&] { core->tick(now); });
    }
    now = until;
  }

  program_view find(program_id id) const { return core->find(id).value(); }
  program_state state(program_id id) const { return find(id).state; }
  /// Returns the orders of the last step.
  rank_orders orders(stream_id s) const {
    for (auto const& o : core->pending_output().orders)
      if (o.stream == s) return o;
    return {s};
  }
  std::vector<std::uint32_t> started(stream_id s) const {
    std::vector<std::uint32_t> all;
    for (auto const& o : orders(s).starts) all.insert(all.end(), o.ranks.begin(), o.ranks.end());
    return all;
  }
  void run(stream_id s, program_id id, std::uint32_t attempt, std::vector<std::uint32_t> ranks) {
    std::vector<rank_reports::start> all;
    for (auto const r : ranks) all.push_back({{id, attempt, r}, 100 + r});
    report(s, std::move(all));
  }
  void end(stream_id s, program_id id, std::uint32_t attempt, std::uint32_t rank,
           std::uint32_t exit_status = 0, bool stopped = false) {
    rank_end e;
    e.name = {id, attempt, rank};
    e.exit_status = exit_status;
    e.stopped = stopped;
    report(s, {}, {std::move(e)});
  }

  std::vector<std::uint32_t> kept;                    // at the last attach
  std::map<stream_id, std::deque<rank_orders>> sent;  // sent but not yet processed
  std::map<program_id, std::vector<program_state>> states;
  std::set<rank_name> begun;  // ever started

 private:
  std::uint64_t last_id_ = 100, last_stream_ = 0, last_number_ = 0;
};

inline program_spec of_workers(std::uint32_t n, named_amounts each = {}) {
  program_spec s;
  s.name = "train";
  s.command = {"train", "--fast"};
  program_tasks t;
  t.min = t.max = n;
  t.resources = std::move(each);
  s.tasks.push_back(std::move(t));
  return s;
}

}  // namespace muster::core::programs
