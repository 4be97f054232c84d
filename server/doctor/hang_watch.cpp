// Classifies a program as moving, idle or suspected.
#include "server/doctor/hang_watch.hpp"

#include <algorithm>
#include <utility>

namespace muster::doctor {
namespace {

using namespace std::chrono_literals;

// Maximum activity that does not count as work. Idle threads, for example gRPC's, and stack
// sampling cause such activity.
constexpr std::uint64_t io_noise = 64 << 10, io_noise_each_second = 64 << 10;
constexpr std::uint64_t faults_noise = 32, faults_noise_each_second = 32;
constexpr std::uint64_t spins_from_percent = 5;
constexpr std::uint64_t wakeups_by_signals = 2;  // stack sampling sends one signal

constexpr duration every_min = 250ms, every_max = 15s, between_max = 5s;

// Returns whether a counter changed by more than noise. A decrease means that a process exited.
bool much(std::uint64_t is, std::uint64_t was, std::uint64_t noise, std::uint64_t each_second,
          duration over) {
  auto const ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(over).count());
  return is < was || is - was > noise + each_second * ms / 1000;
}

}  // namespace

hang_watch::hang_watch(time_point now, duration hang_after, std::vector<bool> trains)
    : hang_after_(hang_after),
      ranks_(trains.size()),
      due_(now),
      activity_at_(now),
      again_after_(hang_after) {
  for (std::size_t i = 0; i < trains.size(); ++i) {
    ranks_[i].trains = trains[i];
    ranks_[i].moved = now;
  }
}

void hang_watch::restore(core::hang found) {
  if (found.rank >= static_cast<std::int64_t>(ranks_.size())) return;
  restored_ = true;
  activity_at_ = found.since;
  for (auto& w : ranks_) w.moved = found.since;
  for (auto const r : alive())
    if (static_cast<std::int64_t>(r) != found.rank) waiting_.push_back(r);
  found_ = std::move(found);
}

duration hang_watch::every() const {
  return std::clamp<duration>(hang_after_ / 4, every_min, every_max);
}

void hang_watch::ended(time_point now, std::uint32_t rank) {
  if (rank >= ranks_.size() || std::exchange(ranks_[rank].over, true)) return;
  ranks_[rank].moved = now;
}

void hang_watch::note(time_point now, watched& w, rank_vitals const& v) {
  if (w.known) {
    auto const over = now - w.seen;
    auto const& l = w.last;
    auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(over).count();
    w.still = v.state == 'S' && v.wakeups <= l.wakeups + wakeups_by_signals;
    auto const cpu = v.cpu_ms > l.cpu_ms ? v.cpu_ms - l.cpu_ms : 0;
    // On a busy host, a rank in an endless loop gets little processor time.
    w.spins = v.state == 'R' ||
              (cpu > 0 && cpu * 100 >= spins_from_percent * static_cast<std::uint64_t>(ms));
    // After a server restart, workers report the steps of their ranks again.
    bool const steps = v.step != l.step && (l.step || !restored_);
    if (v.output != l.output || steps ||
        much(v.io_bytes, l.io_bytes, io_noise, io_noise_each_second, over) ||
        much(v.faults, l.faults, faults_noise, faults_noise_each_second, over))
      w.moved = now;
  } else if (!restored_) {
    w.moved = now;
  }
  w.in_kernel = v.state == 'D' ? w.in_kernel + 1 : 0;
  w.known = true;
  w.seen = now;
  w.last = v;
}

hang_watch::ranks hang_watch::alive() const {
  ranks all;
  for (std::uint32_t i = 0; i < ranks_.size(); ++i)
    if (ranks_[i].trains && !ranks_[i].over) all.push_back(i);
  return all;
}

// A rank without a current observation can be working.
bool hang_watch::all_seen() const {
  auto const those = alive();
  return !those.empty() && std::all_of(those.begin(), those.end(), [&](auto r) {
    return ranks_[r].known && ranks_[r].seen == last_check_;
  });
}

time_point hang_watch::quiet_since() const {
  auto last = activity_at_;
  for (auto const& w : ranks_)
    if (w.trains) last = std::max(last, w.moved);
  return last;
}

// A spinning rank gets twice the time, because a long computation looks like an endless loop.
duration hang_watch::patience_with(watched const& w) const {
  return std::max(w.spins ? 2 * hang_after_ : hang_after_, late_times * usual_step_);
}

std::optional<duration> hang_watch::patience() const {
  auto const those = alive();
  auto const spin =
      std::count_if(those.begin(), those.end(), [&](auto r) { return ranks_[r].spins; });
  if (spin == static_cast<std::ptrdiff_t>(those.size()) && usual_step_ == duration{}) return {};
  return std::max(spin > 0 ? 2 * hang_after_ : hang_after_, late_times * usual_step_);
}

// Returns an overdue barrier whose missing ranks all appear stopped.
late_barrier const* hang_watch::barrier_in_question(time_point now) const {
  for (auto const& b : barriers_) {
    if (b.missing.empty() || b.since + std::max(hang_after_, late_times * b.usual) > now) continue;
    bool const all_stand = std::all_of(b.missing.begin(), b.missing.end(), [&](auto r) {
      if (r >= ranks_.size() || !ranks_[r].trains) return false;
      auto const& w = ranks_[r];
      return w.over || (w.known && w.moved + patience_with(w) * 3 / 4 <= now);
    });
    if (all_stand) return &b;
  }
  return nullptr;
}

std::optional<hang_watch::suspicion> hang_watch::suspect(time_point now) const {
  if (!all_seen()) return {};
  auto const allowed = patience();
  auto const quiet = quiet_since();
  if (allowed && quiet + *allowed * 3 / 4 <= now) return suspicion{quiet, quiet + *allowed};
  auto const* b = barrier_in_question(now);
  if (!b) return {};
  suspicion s{b->since, b->since, b};
  for (auto const r : b->missing) {
    auto const& w = ranks_[r];
    if (!w.over) s.since = std::max(s.since, w.moved);
    if (!w.over) s.ripe = std::max(s.ripe, w.moved + patience_with(w));
  }
  return s;
}

hang_watch::answer hang_watch::looked(time_point now, look l) {
  for (auto const& v : l.vitals)
    if (v.rank < ranks_.size() && !ranks_[v.rank].over) note(now, ranks_[v.rank], v);
  if (std::exchange(activity_, l.activity) != l.activity && last_check_ != time_point{})
    activity_at_ = now;
  barriers_ = std::move(l.barriers);
  usual_step_ = l.usual_step;
  last_check_ = now;
  due_ = now + every();
  answer a;
  a.news = check_over();
  auto const s = suspect(now);
  if (!s) {
    first_stacks_ = {};
    return a;
  }
  // An undecided verdict is reviewed later, when a single rank may differ from the other ranks.
  if (found_ && (found_->rank >= 0 || now < again_)) return a;
  auto const between = std::min(hang_after_ / 4, between_max);
  auto const second = first_stacks_ ? std::max(s->ripe, *first_stacks_ + between) : now;
  a.stacks = second <= now;
  if (!a.stacks) due_ = std::min(due_, second);
  return a;
}

// Stores the first stacks. A rank whose second stack differs has moved.
hang_change hang_watch::stacks(time_point now, std::vector<rank_stack> all) {
  bool const again = first_stacks_.has_value();
  for (auto& s : all) {
    if (s.rank >= ranks_.size()) continue;
    auto& w = ranks_[s.rank];
    if (s.text.size() > text_bytes_max) s.text.resize(text_bytes_max);
    if (s.native) s.text.erase(0, s.text.size() - main_thread_of(s.text).size());
    w.spun = s.native && w.spins ? std::exchange(s.text, {}) : std::string();
    if (again && !s.native && !s.text.empty() && !w.stack.empty() && s.text != w.stack)
      w.moved = now;
    w.stack = std::move(s.text);
    w.process = std::move(s.process);
  }
  if (!again) {
    first_stacks_ = now;
    due_ = std::min(due_, now + std::min(hang_after_ / 4, between_max));
    return hang_change::none;
  }
  first_stacks_ = now;
  auto const s = suspect(now);
  if (!s || s->ripe > now) return hang_change::none;
  return decide(now, *s);
}

// The named rank itself must move, because other ranks can print that they are waiting.
hang_change hang_watch::check_over() {
  if (!found_) return hang_change::none;
  auto const since = found_->found;
  bool moves = activity_at_ > since;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    bool const counts = found_->rank < 0 || found_->evidence == core::hang_evidence::ended ||
                        found_->rank == static_cast<std::int64_t>(r);
    moves = moves || (ranks_[r].trains && counts && ranks_[r].moved > since);
  }
  if (!moves) return hang_change::none;
  found_ = {};
  again_after_ = hang_after_;
  waiting_.clear();
  first_stacks_ = {};
  return hang_change::over;
}

hang_change hang_watch::decide(time_point now, suspicion const& s) {
  auto h = judged(s);
  h.since = s.since;
  h.found = now;
  again_ = now + again_after_;
  again_after_ = std::min(2 * again_after_, again_times_max * hang_after_);
  if (found_ && h.rank < 0) return hang_change::none;
  waiting_.clear();
  for (auto const r : alive())
    if (static_cast<std::int64_t>(r) != h.rank) waiting_.push_back(r);
  h.waits = static_cast<std::uint32_t>(waiting_.size());
  found_ = std::move(h);
  return hang_change::found;
}

}  // namespace muster::doctor
