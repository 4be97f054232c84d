#include "server/core/objects/dataset.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace muster::core {

std::string text(dataset_id id) {
  return "ds_" + hex16(raw(id));
}

namespace objects {

using datasets::any_epoch;

dataset::dataset(datasets::dataset_limits const& limits, datasets::dataset_spec spec,
                 session_id owner, std::string submitter, time_point created)
    : limits_(limits),
      spec_(std::move(spec)),
      owner_(owner),
      submitter_(std::move(submitter)),
      created_(created) {
  for (auto const& s : spec_.splits) bytes_ += s.size() + limits_.split_overhead;
  begin_at(std::exchange(spec_.at, {}));
}

status dataset::check(datasets::position const& at, std::size_t splits, std::uint32_t epochs) {
  if (at.epoch > epochs)
    return wrong_field("position.epoch", std::to_string(at.epoch) + ", but the dataset has only " +
                                             std::to_string(epochs) +
                                             (epochs == 1 ? " epoch" : " epochs"));
  for (std::size_t i = 0; i < at.done.size(); ++i)
    if (at.done[i] >= splits || (i > 0 && at.done[i] <= at.done[i - 1]))
      return wrong_field(
          "position.done",
          std::to_string(at.done[i]) +
              " is not allowed here; list the numbers of existing splits in ascending order");
  if (at.epoch == epochs && !at.done.empty())
    return wrong_field("position.done", "must be empty, because the last epoch has ended");
  return {};
}

void dataset::begin_at(datasets::position const& at) {
  epoch_ = at.epoch;
  begin_epoch();
  for (auto const i : at.done) states_[i] = split_state::done;
  std::erase_if(queue_, [this](std::uint32_t i) { return states_[i] == split_state::done; });
  done_ = at.done.size();
  pass_epochs();
}

status dataset::seek_to(datasets::position const& at, answers& out) {
  for (auto const& [closure, h] : holders_)
    if (!h.held.empty())
      return {
          code::failed_precondition,
          "a function has drawn " + std::to_string(h.held.size()) +
              (h.held.size() == 1 ? " split" : " splits") +
              std::string(
                  " and has not ended: set the position while no function is reading the dataset")};
  for (auto& [closure, h] : holders_)
    if (!h.named) h.epoch = any_epoch;
  begin_at(at);
  serve_all(out);
  return {};
}

void dataset::begin_epoch() {
  done_ = 0;
  queue_.clear();
  states_.assign(spec_.splits.size(), split_state::queued);
  if (is_over()) return;
  for (std::uint32_t i = 0; i < states_.size(); ++i) queue_.push_back(i);
}

void dataset::pass_epochs() {
  while (!is_over() && done_ == states_.size()) {
    ++epoch_;
    begin_epoch();
  }
}

void dataset::draw(call_name const& name, datasets::draw_request const& r,
                   std::string const& worker, answers& out) {
  if (auto const it = holders_.find(r.closure);
      it != holders_.end() && it->second.attempt != r.attempt)
    ended(r.closure, false, out);
  auto& h = holders_[r.closure];
  h.attempt = r.attempt;
  h.worker = worker;
  for (auto const i : r.passed)
    if (auto const it = h.held.find(i); it != h.held.end()) it->second = true;
  if (r.epoch != any_epoch) {
    if (h.epoch != any_epoch && h.epoch != r.epoch) {
      out.push_back({name,
                     {},
                     "epoch: " + std::to_string(r.epoch) +
                         ", but the function is already reading epoch " + std::to_string(h.epoch) +
                         "; each function can read only one epoch"});
      return serve_all(out);
    }
    h.epoch = r.epoch;
    h.named = true;
  }
  h.end_reached = h.end_reached || r.stops;
  parked_.push_back({name, r.closure, r.whole});
  ++h.waits;
  serve_all(out);
}

bool dataset::serve(parked const& p, bool settled, answers& out) {
  auto& h = holders_.at(p.closure);
  bool const mine = h.epoch == any_epoch || h.epoch == epoch_;
  bool const past = is_over() || h.end_reached || (h.epoch != any_epoch && h.epoch < epoch_);
  if (past) {
    out.push_back({p.name, {}, {}});
  } else if (mine && !queue_.empty()) {
    auto const i = queue_.front();
    queue_.pop_front();
    states_[i] = split_state::drawn;
    h.epoch = epoch_;
    h.held.emplace(i, p.whole);
    ++part_of(h.worker).drawn;
    out.push_back({p.name, drawn_split{epoch_, i}, {}});
  } else if (h.epoch == epoch_ && settled) {
    out.push_back({p.name, {}, {}});
    h.end_reached = true;
  } else {
    return false;
  }
  --h.waits;
  return true;
}

// Checks only once whether the dataset is settled. A closure that receives the end of the dataset
// stays settled; a closure that receives a split was not settled.
void dataset::serve_all(answers& out) {
  bool const settled = !parked_.empty() && is_settled();
  auto const waited = std::exchange(parked_, {});
  for (auto const& p : waited)
    if (!serve(p, settled, out)) parked_.push_back(p);
}

bool dataset::is_settled() const {
  if (!queue_.empty()) return false;
  return std::all_of(holders_.begin(), holders_.end(), [](auto const& one) {
    auto const& h = one.second;
    // A waiting closure finishes no split before the closure itself finishes, so its unfinished
    // splits cannot return earlier.
    return h.held.empty() || h.waits > 0 ||
           (h.end_reached &&
            std::all_of(h.held.begin(), h.held.end(), [](auto const& s) { return s.second; }));
  });
}

void dataset::give_back(holder& h) {
  for (auto it = h.held.rbegin(); it != h.held.rend(); ++it) {
    states_[it->first] = split_state::queued;
    queue_.push_front(it->first);
  }
  released_this_step_ += h.held.size();
}

void dataset::ended(closure_id closure, bool succeeded, answers& out) {
  auto const it = holders_.find(closure);
  if (it == holders_.end()) return;
  auto& h = it->second;
  if (!h.held.empty()) {
    auto& part = part_of(h.worker);
    part.drawn -= h.held.size();
    if (succeeded) {
      auto const done = std::erase_if(h.held, [this](auto const& s) {
        if (s.second) states_[s.first] = split_state::done;
        return s.second;
      });
      done_ += done;
      done_ever_ += done;
      part.done += done;
    }
    give_back(h);
  }
  std::erase_if(parked_, [&](parked const& p) {
    if (p.closure != closure) return false;
    out.push_back({p.name, {}, {}});
    return true;
  });
  holders_.erase(it);
  pass_epochs();
  serve_all(out);
}

void dataset::stop(closure_id closure, answers& out) {
  auto const it = holders_.find(closure);
  if (it == holders_.end()) return;
  it->second.end_reached = true;
  serve_all(out);
}

std::vector<call_name> dataset::abandon() {
  std::vector<call_name> names;
  for (auto const& p : parked_) names.push_back(p.name);
  parked_.clear();
  return names;
}

datasets::worker_part& dataset::part_of(std::string const& worker) {
  if (auto const it = workers_.find(worker); it != workers_.end()) return it->second;
  return workers_[workers_.size() < limits_.workers_max ? worker : "others"];
}

datasets::position dataset::where() const {
  datasets::position p{epoch_, {}};
  for (std::uint32_t i = 0; i < states_.size(); ++i)
    if (states_[i] == split_state::done) p.done.push_back(i);
  return p;
}

datasets::dataset_counts dataset::counts() const {
  datasets::dataset_counts c;
  c.epoch = epoch_;
  c.splits = spec_.splits.size();
  c.queued = queue_.size();
  c.done = done_;
  c.drawn = is_over() ? 0 : c.splits - c.queued - c.done;
  c.waiting = parked_.size();
  return c;
}

datasets::dataset_view dataset::view(dataset_id id) const {
  datasets::dataset_view v;
  v.id = id;
  v.name = spec_.name;
  v.owner = owner_;
  v.submitter = submitter_;
  v.created = created_;
  v.epochs = spec_.epochs;
  auto const now = counts();
  v.epoch = now.epoch;
  v.splits = now.splits;
  v.queued = now.queued;
  v.done = now.done;
  v.drawn = now.drawn;
  v.waiting = now.waiting;
  v.given_back = released_this_step_;
  v.workers = workers_;
  return v;
}

std::string dataset::invalid() const {
  std::size_t drawn = 0, waits = 0, done = 0;
  for (auto const& [closure, h] : holders_) {
    drawn += h.held.size();
    waits += h.waits;
    for (auto const& [i, passed] : h.held)
      if (states_[i] != split_state::drawn)
        return "a split has a holder but is not in the state DRAWN";
  }
  for (auto const s : states_) done += s == split_state::done ? 1 : 0;
  if (done != done_) return "the number of finished splits is wrong";
  if (waits != parked_.size()) return "the number of waiting draws is wrong";
  if (!is_over() && drawn + done_ + queue_.size() != states_.size())
    return "a split is neither queued, drawn nor done";
  if (is_over() && (drawn > 0 || !queue_.empty() || !parked_.empty()))
    return "the dataset has ended but still has drawn splits, queued splits or waiting draws";
  return {};
}

}  // namespace objects
}  // namespace muster::core
