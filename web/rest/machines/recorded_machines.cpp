#include "web/rest/machines/recorded_machines.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "server/history/store/records.hpp"

namespace muster::web {
namespace {

using history::machine_sample;

constexpr std::array figures{&machine_sample::cpu,      &machine_sample::memory,
                             &machine_sample::gpu,      &machine_sample::gpu_memory,
                             &machine_sample::received, &machine_sample::sent,
                             &machine_sample::read,     &machine_sample::written};
// The interval between stored samples.
constexpr core::duration least_step = std::chrono::seconds(5);

// The order of first occurrence is stable, so it can be used for pages.
class machine_fold {
 public:
  machine_fold(history_query const& q, machine_filter const& filter, std::size_t samples,
               std::uint64_t after)
      : q_(q), filter_(filter), after_(after) {
    auto const n = static_cast<std::int64_t>(samples);
    step_ = std::max(least_step, (q.to - q.from + core::duration(n - 1)) / n);
  }

  void add(server::recorded_machine const& m, std::string const& cluster) {
    auto const at = core::time_point(std::chrono::seconds(m.sample.at));
    if (!q_.takes(at) || !filter_.takes(m.task, m.host)) return;
    if (filter_.hosts && shows_.try_emplace({m.cluster, m.host}, m.task).first->second != m.task)
      return;
    auto const [it, anew] = places_.try_emplace({m.cluster, m.task}, places_.size());
    auto const place = it->second;
    if (place < after_ || place - after_ >= q_.limit) return;
    if (anew) {
      machines_.emplace_back().cluster = cluster;
      machines_.back().task = m.task;
      counts_.emplace_back();
    }
    add(machines_[place - after_], counts_[place - after_], m, at);
  }

  core::page<seen_machine, std::uint64_t> page() {
    core::page<seen_machine, std::uint64_t> p;
    p.items = std::move(machines_);
    if (places_.size() > after_ + q_.limit) p.next = after_ + q_.limit;
    return p;
  }

 private:
  using counts = std::array<std::uint32_t, figures.size()>;  // number of values in the last sample

  void add(seen_machine& to, counts& n, server::recorded_machine const& m,
           core::time_point at) const {
    to.newest.host = m.host;
    to.seen = std::max(to.seen, at);
    auto const begin = q_.from + (at - q_.from) / step_ * step_;
    auto const seconds = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::seconds>(begin.time_since_epoch()).count());
    if (to.samples.empty() || to.samples.back().at < seconds) {
      to.samples.push_back({seconds});
      n = {};
    }
    auto& sum = to.samples.back();
    for (std::size_t i = 0; i < figures.size(); ++i) {
      auto const value = m.sample.*figures[i];
      if (value < 0) continue;
      auto& mean = sum.*figures[i];
      mean = n[i] == 0 ? value : mean + (value - mean) / static_cast<float>(n[i] + 1);
      ++n[i];
    }
  }

  history_query const& q_;
  machine_filter const& filter_;
  std::uint64_t const after_;
  core::duration step_{};
  std::map<std::pair<std::string, std::string>, std::uint64_t> places_;
  std::map<std::pair<std::string, std::string>, std::string> shows_;
  std::vector<seen_machine> machines_;
  std::vector<counts> counts_;
};

}  // namespace

void members(member_list const& m, recorded_machines const& all) {
  m("machines", all.page.items);
  m.some("next_page_token", next_token('m', all.page.next));
  m.when(all.until != core::time_point{})(
      "until_ms", all.until,
      "with a time: end of the period that was read; continue from this time");
}

recorded_machines read_machines(
    server::history_store const& store, history_query const& q, machine_filter const& filter,
    std::size_t samples, std::uint64_t after,
    std::function<std::optional<std::string>(std::string const&)> const& shown) {
  recorded_machines all;
  all.until = q.to;
  machine_fold fold(q, filter, samples, after);
  auto const end = std::chrono::steady_clock::now() + summary_read_for;
  store.scan(server::history_kind::machines, {q.from, 0},
             [&](server::history_place at, std::string_view record) {
               if (q.over(at.at)) return false;
               if (std::chrono::steady_clock::now() >= end) {
                 all.until = std::min(at.at, q.to);
                 return false;
               }
               for (auto const& m : store.decoded(server::history_kind::machines, at, record,
                                                  server::machines_from))
                 if (auto const name = shown(m.cluster)) fold.add(m, *name);
               return true;
             });
  all.page = fold.page();
  return all;
}

}  // namespace muster::web
