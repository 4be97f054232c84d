// A simulated worker that follows the protocol; its clock is up to a twentieth slow.
#pragma once

#include <algorithm>
#include <random>
#include <set>

#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {

struct body {
  rank_name name;
  std::uint16_t port = 0;
  named_amounts needs;
  time_point dies_at = never;
  std::uint32_t exit_status = 0;
  bool reported = false;  // its start
};

class model_worker {
 public:
  model_worker(bench& b, std::uint64_t seed, std::int64_t index)
      : bench_(b),
        random_(seed),
        process_{seed, index, "host" + std::to_string(index), {{"gpu", 4}}} {
    process_.unpacks = index != 0;
  }

  bool attached() const { return stream_ != stream_id{}; }
  std::vector<body> const& alive() const { return alive_; }
  std::string const& host() const { return process_.host; }

  void attach() {
    std::vector<held_rank> held;
    for (auto const& r : alive_) held.push_back({r.name, r.reported ? 1u : 0u, {}});
    for (auto const& e : ended_) held.push_back({e.name, 0, e});
    auto const sent = bench_.now;
    stream_ = bench_.attach(process_, held);
    lease_from_ = sent;
    auto const alive_count = static_cast<std::uint32_t>(alive_.size());
    auto const is_kept = [this](std::uint32_t at) {
      return std::find(bench_.kept.begin(), bench_.kept.end(), at) != bench_.kept.end();
    };
    std::vector<body> kept;
    std::vector<rank_end> killed;
    for (std::uint32_t i = 0; i < alive_.size(); ++i) {
      if (is_kept(i)) {
        kept.push_back(alive_[i]);
      } else {
        killed.push_back({.name = alive_[i].name, .signal = 9, .stopped = true});
      }
    }
    alive_ = std::move(kept);
    std::vector<rank_end> known;  // stored by the server; the others are discarded
    for (std::uint32_t i = 0; i < ended_.size(); ++i)
      if (is_kept(alive_count + i)) known.push_back(ended_[i]);
    ended_ = std::move(known);
    ended_.insert(ended_.end(), killed.begin(), killed.end());
  }
  void cut() {
    auto const s = std::exchange(stream_, stream_id{});
    bench_.cut(s);
    bench_.sent.erase(s);
  }
  void lose_server() { stream_ = {}; }
  /// Simulates a power failure.
  void die() {
    if (attached()) cut();
    alive_.clear();
    ended_.clear();
    process_.incarnation += 1'000'000;
  }

  void live() {
    auto const slow = bench_.now - lease_from_;
    if (slow - slow / 20 >= bench::lease)
      for (auto& r : alive_) r.dies_at = bench_.now, r.exit_status = ~0u;
    // Some orders are delayed.
    if (attached() && random_() % 4 != 0)
      for (auto& inbox = bench_.sent[stream_]; !inbox.empty(); inbox.pop_front())
        perform(inbox.front());
    std::vector<rank_reports::start> started;
    for (auto it = alive_.begin(); it != alive_.end();) {
      if (it->dies_at <= bench_.now) {
        ended_.push_back(it->exit_status == ~0u
                             ? rank_end{.name = it->name, .signal = 9, .stopped = true}
                             : rank_end{.name = it->name, .exit_status = it->exit_status});
        it = alive_.erase(it);
        continue;
      }
      if (attached() && !it->reported) started.push_back({it->name, 1}), it->reported = true;
      ++it;
    }
    if (attached()) say(std::move(started));
  }

 private:
  void say(std::vector<rank_reports::start> started) {
    auto const number = ++last_number_;
    sent_[number] = bench_.now;
    bench_.report(stream_, std::move(started), ended_, number);
  }

  void perform(rank_orders const& o) {
    if (o.lease > 0) lease_from_ = sent_[o.lease];
    for (auto const& s : o.stops)
      for (auto& r : alive_)
        if (r.name.program == s.program && r.name.attempt == s.attempt)
          r.dies_at = bench_.now + random_() % 3 * s.grace / 2, r.exit_status = ~0u;
    for (auto const& f : o.forget)
      std::erase_if(ended_, [&](auto const& e) { return e.name == f; });
    for (auto const& s : o.starts)
      for (auto const rank : s.ranks) begin(*s.sheet, rank);
  }

  void begin(attempt_sheet const& sheet, std::uint32_t rank) {
    rank_name const name{sheet.program, sheet.attempt, rank};
    auto const is = [&](auto const& r) { return r.name == name; };
    if (std::any_of(alive_.begin(), alive_.end(), is) ||
        std::any_of(ended_.begin(), ended_.end(), is))
      return;
    EXPECT_TRUE(sheet.spec->upload.empty() || process_.unpacks);
    body r;
    r.name = name;
    auto const& address = sheet.tasks[rank].address;
    r.port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    r.needs = sheet.spec->tasks[sheet.tasks[rank].group].resources;
    r.dies_at = bench_.now + std::chrono::milliseconds(random_() % 20'000);
    r.exit_status = random_() % 40 == 0;
    alive_.push_back(std::move(r));
    EXPECT_TRUE(bench_.begun.insert(name).second)
        << text(name.program) << " attempt " << name.attempt << " rank " << name.rank
        << " is started twice";
  }

  bench& bench_;
  std::mt19937_64 random_;
  process process_;
  stream_id stream_{};
  std::vector<body> alive_;
  std::vector<rank_end> ended_;  // not acknowledged
  std::map<std::uint64_t, time_point> sent_;
  std::uint64_t last_number_ = 0;
  time_point lease_from_{};
};

/// Checks that no port is used twice, no rank runs twice, no worker exceeds its resources, and each
/// program has one live attempt.
template <class Workers>
void expect_in_order(Workers const& workers) {
  std::set<std::pair<std::string, std::uint16_t>> ports;
  std::map<program_id, std::set<std::uint32_t>> attempts;
  std::set<rank_name> ranks;
  for (auto const& one : workers) {
    std::uint32_t used = 0;
    for (auto const& r : one.alive()) {
      EXPECT_TRUE(ports.emplace(one.host(), r.port).second) << "a port twice";
      EXPECT_TRUE(ranks.insert(r.name).second) << "a rank twice";
      attempts[r.name.program].insert(r.name.attempt);
      for (auto const& [name, amount] : r.needs) used += amount;
    }
    EXPECT_LE(used, 4u);
  }
  for (auto const& [p, of] : attempts) EXPECT_EQ(of.size(), 1u) << "two attempts are alive";
}

/// Checks that all programs have ended and all resources are free.
template <class Bench>
void expect_all_over(Bench const& b, std::set<program_id> const& programs) {
  for (auto const p : programs)
    EXPECT_TRUE(ended(b.state(p)))
        << text(p) << " is " << name(b.state(p)) << ": " << b.find(p).waits_for;
  EXPECT_EQ(b.core->counts().ranks_alive, 0u);
  for (auto const& [s, w] : b.resources.workers) EXPECT_EQ(w.free, w.all);
}

inline program_spec random_program(std::mt19937_64& random) {
  auto spec = of_workers(static_cast<std::uint32_t>(1 + random() % 10), {{"gpu", 1}});
  spec.tasks[0].min = static_cast<std::uint32_t>(1 + random() % spec.tasks[0].max);
  spec.max_restarts = static_cast<std::uint32_t>(random() % 4);
  spec.spares = static_cast<std::uint32_t>(random() % 3);
  return spec;
}

}  // namespace muster::core::programs
