#include "tests/journal/killable_server.hpp"

#include <utility>

#include "server/journal/fact_encoding.hpp"

namespace muster::server::journal {

namespace {
constexpr std::uint64_t ids_at_once = 1'000;
}  // namespace

killable_server::killable_server(std::uint64_t seed, core::config c)
    : virtual_time(seed), config_(std::move(c)) {}

void killable_server::start() {
  ++epoch_;
  core_.reset();
  wide_ = std::make_unique<core::server_wide>(now_);
  wide_->first_generation = 1 + (static_cast<std::uint32_t>(epoch_ - 1) << 20);
  core_ = std::make_unique<core::coordinator>(config_, now_, *wide_);
  auto stored = load_jobs(disk_);
  if (!stored) fail(stored.error().message);
  wide_->last_session = (epoch_ - 1) * ids_at_once;
  core::restore_jobs all;
  for (auto& j : *stored) all.jobs.push_back(std::move(j.job));
  counts["restored"] += all.jobs.size();
  perform(core_->step(now_, all));
  functions_.clear();
  core::learn_functions names;
  names.names = {"f", "g", "h"};
  ask(names,
      [this](core::reply const& r) { functions_ = std::get<core::functions_reply>(r.body).ids; });
  write_all();
}

// Discards unwritten changes and pending replies.
void killable_server::kill() {
  ++counts["crashes"];
  counts["lost_batches"] += queue_.size();
  written_ -= queue_.size();
  queue_.clear();
  line_.clear();
  calls_.clear();
}

void killable_server::perform(core::effects const& fx) {
  if (!fx.facts.empty()) {
    std::vector<change> batch;
    encode({}, fx.facts, batch);
    queue_.push_back(std::move(batch));
    ++written_;
  }
  if (!fx.outcomes.empty() || !fx.notices.empty() || !fx.replies.empty())
    line_.push_back({written_, fx.outcomes, fx.notices, fx.replies});
  at_once(fx);
  if (auto const wrong = core_->violated_invariant(); !wrong.empty())
    fail(wrong + " after " + event_);
  write_some(0);
}

void killable_server::write_some(std::size_t batches) {
  for (; batches > 0 && !queue_.empty(); --batches) {
    (void)disk_.write(queue_.front());
    queue_.pop_front();
  }
  while (!line_.empty() && line_.front().number <= written_ - queue_.size()) {
    auto const told = std::move(line_.front());
    line_.pop_front();
    for (auto const& o : told.outcomes) on_outcome(o);
    for (auto const& n : told.notices) on_notice(n);
    for (auto const& r : told.replies)
      if (auto node = calls_.extract(r.call)) node.mapped()(r);
    if (told.then) told.then();
  }
}

}  // namespace muster::server::journal
