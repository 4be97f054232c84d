#include "tests/coordination/simulation/world.hpp"

#include <memory>

#include "tests/support/archive.hpp"

namespace muster::coordination_simulation {

using namespace std::chrono_literals;

namespace {

cc::limits limits_of(bool journalled) {
  cc::limits l;
  l.journalled = journalled;
  return l;
}

}  // namespace

world::world(std::uint64_t seed, cc::cluster_spec spec, recording* to, bool journalled)
    : virtual_time(seed), recording_(to), limits_(limits_of(journalled)), server_(limits_, seed) {
  auto const& made = step(cc::create_cluster{std::move(spec)});
  if (!made.declared.ok()) throw violation(made.declared.message);
  cluster_ = made.cluster;
  disk_.add(made.facts);
}

cc::effects& world::step(cc::event e) {
  if (recording_) recording_->steps.push_back({now_, e, {}});
  auto& fx = server_.step(now_, e);
  folded_.fold(fx.changes);
  if (recording_) recording_->steps.back().effects = archive::saved(fx);
  return fx;
}

void world::run(core::time_point end) {
  int in_place = 0;
  for (;;) {
    auto const due = server_.next_deadline();
    auto const soonest = std::min(next(), due);
    if (soonest > end) break;
    in_place = soonest > now_ ? 0 : in_place + 1;
    if (in_place > 100'000) throw violation("time stands still");
    if (due <= next()) {
      now_ = std::max(now_, due);
      perform(step(cc::tick{}));
    } else {
      perform_next();
    }
  }
  now_ = end;
}

std::uint64_t world::send(cc::request r, done then) {
  auto const handle = ++last_handle_;
  sent_[handle].then = std::move(then);
  if (std::holds_alternative<cc::poll_for_error>(r))
    sent_[handle].when_killed = muster::code::cancelled;
  if (std::holds_alternative<cc::watch_tasks>(r))
    sent_[handle].when_killed = muster::code::unavailable;
  auto const travel = [this] {
    return core::duration(dice().between(1, faulty_ && dice().chance(10) ? 3'000'000 : 2'000));
  };
  if (faulty_ && dice().chance(3)) return note("lost on its way"), handle;
  if (faulty_ && dice().chance(3)) after(travel(), [this, handle, r] { deliver(handle, r); });
  after(travel(), [this, handle, r = std::move(r)] { deliver(handle, r); });
  return handle;
}

void world::deliver(std::uint64_t handle, cc::request r) {
  auto const it = sent_.find(handle);
  if (it == sent_.end() || it->second.dropped) return;
  auto const call = core::call_id{++last_call_};
  open_call c{.handle = handle, .barrier = {}};
  if (auto const* b = std::get_if<cc::enter_barrier>(&r)) {
    c.barrier = b->id;
    c.counter = b->counter;
  }
  if (auto const* k = std::get_if<cc::get_key_value>(&r))
    c.endless = k->from.deadline == core::never;
  calls_.emplace(call, std::move(c));
  it->second.calls.insert(call);
  std::visit([call](auto& q) { q.from.call = call; }, r);
  mix(r.index());
  perform(step(cc::cluster_call{cluster_, std::move(r)}));
}

std::size_t world::endless_waits() const {
  std::size_t n = 0;
  for (auto const& [call, c] : calls_) n += c.endless;
  return n;
}

void world::drop(std::uint64_t handle) {
  auto const it = sent_.find(handle);
  if (it == sent_.end()) return;
  it->second.dropped = true;
  auto const noticed = faulty_ && dice().chance(50) ? core::duration(dice().between(0, 5'000'000))
                                                    : core::duration(0);
  after(noticed, [this, handle] {
    auto const entry = sent_.find(handle);
    if (entry == sent_.end()) return;
    auto const calls = std::move(entry->second.calls);
    sent_.erase(entry);
    for (auto const call : calls) {
      calls_.erase(call);
      perform(step(cc::call_abandoned{cluster_, call}));
    }
  });
}

void world::close_connection(cc::task_index task, core::incarnation incarnation) {
  if (!service().tells_by_heartbeat()) return;
  after(core::duration(dice().between(0, 5'000)), [this, task, incarnation, boot = boot_] {
    if (boot == boot_) perform(step(cc::connection_closed{cluster_, task, incarnation}));
  });
}

void world::perform(cc::effects& fx) {
  ++steps_;
  mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
  if (auto broken = server_.violated_invariant(); !broken.empty()) throw violation(broken);
  if (auto differs = folded_.difference(server_); !differs.empty()) throw violation(differs);
  if (service().incarnation() != generation_) {
    generation_ = service().incarnation();
    version_ = -1;
    if (!limits_.journalled) barriers_.clear();
  }
  bool failed = false;
  log_.fold(fx.changes);
  for (auto const& m : log_.pending_events()) {
    note("notice " + std::string(name(m.kind)) + " " + m.about + " " + m.text.substr(0, 160));
    failed = failed || m.kind == history::cluster_event_kind::generation_failed;
  }
  if (failed && service().view(now_).parked_polls > 0)
    throw violation("a poll was not told of the failure");
  std::vector<std::pair<cc::reply, open_call>> told;
  for (auto& r : std::exchange(fx.replies, {})) {
    auto const it = calls_.find(r.call);
    if (it == calls_.end()) throw violation("answered twice, or after the caller was gone");
    auto c = std::move(it->second);
    c.generation = generation_;
    calls_.erase(it);
    if (auto const s = sent_.find(c.handle); s != sent_.end()) s->second.calls.erase(r.call);
    look(r);
    told.emplace_back(std::move(r), std::move(c));
  }
  if (limits_.journalled) return write_down(std::move(fx.facts), std::move(told));
  for (auto const& [r, c] : told) tell(r, c);
}

// Writes to the disk. Most writes take milliseconds, a few much longer.
void world::write_down(std::vector<cc::fact> facts,
                       std::vector<std::pair<cc::reply, open_call>> replies) {
  if (facts.empty() && replies.empty()) return;
  auto const takes = facts.empty()
                         ? core::duration(0)
                         : core::duration(dice().between(1, dice().chance(5) ? 800'000 : 5'000));
  disk_free_ = std::max(disk_free_, now_) + takes;
  writes_.push_back({std::move(facts), std::move(replies)});
  after(disk_free_ - now_, [this, boot = boot_] {
    if (boot != boot_) return;
    auto const w = std::move(writes_.front());
    writes_.pop_front();
    disk_.add(w.facts);
    for (auto const& [r, c] : w.replies) tell(r, c);
  });
}

void world::tell(cc::reply const& r, open_call const& c) {
  fold(r);
  agree(r, c);
  auto const s = sent_.find(c.handle);
  if (s == sent_.end()) return;
  if (s->second.dropped || !s->second.then || (faulty_ && dice().chance(2))) return;
  auto const then = std::exchange(s->second.then, {});  // a repeated call has two replies
  after(core::duration(dice().between(1, 2'000)), [then, r] { then(r); });
}

void world::kill_server() {
  ++counts["kills"];
  note("the server is killed with " + std::to_string(writes_.size()) + " writes under way");
  if (writes_.empty())
    if (auto lost = cc::lost_at_restart(server_, disk_, limits_, now_); !lost.empty())
      throw violation(lost);
  writes_.clear();
  disk_free_ = now_;
  ++boot_;
  calls_.clear();
  auto const name = server_.spec(cluster_).name;
  std::destroy_at(&server_);
  std::construct_at(&server_, limits_, dice().next());
  folded_ = {};
  for (auto& c : disk_.clusters()) {
    auto const& restored = step(cc::restore_cluster{std::move(c)});
    if (!restored.declared.ok()) throw violation(restored.declared.message);
  }
  cluster_ = server_.find(name).value();
  if (auto broken = server_.violated_invariant(); !broken.empty()) throw violation(broken);
  if (auto differs = folded_.difference(server_); !differs.empty()) throw violation(differs);
  generation_ = service().incarnation();
  version_ = -1;
  for (auto& [handle, s] : sent_) {
    s.calls.clear();
    if (s.when_killed == muster::code::ok || s.dropped || !s.then) continue;
    auto killed = std::make_shared<cc::fault>();
    killed->code = s.when_killed;
    cc::reply r;
    r.fault = std::move(killed);
    after(core::duration(dice().between(1, 2'000)),
          [then = std::exchange(s.then, {}), r] { then(r); });
  }
}

void world::look(cc::reply const& r) {
  if (r.fault && r.fault->message.size() > cc::message_bytes_max) throw violation("a long text");
  if (auto const* states = std::get_if<std::shared_ptr<cc::task_states const>>(&r.body);
      states && *states && (*states)->version >= 0) {
    if ((*states)->version < version_) throw violation("the version went back");
    version_ = (*states)->version;
  }
}

void world::agree(cc::reply const& r, open_call const& c) {
  if (c.barrier.empty() || r.fault == nullptr) {
    if (auto const* counter = std::get_if<std::int64_t>(&r.body); counter && !c.barrier.empty())
      agree(c, *counter, muster::code::ok);
    return;
  }
  // Unrelated to the instance.
  if (!r.fault->barrier) return;
  if (r.fault->barrier->id != c.barrier) throw violation("another barrier's error");
  // A wrong counter gives an error about the instance only if it has passed.
  if (r.fault->barrier->counter == c.counter) agree(c, c.counter, r.fault->code);
}

void world::agree(open_call const& c, std::int64_t counter, muster::code result) {
  // The ended generation aborted its running barriers.
  if (result == muster::code::aborted) return;
  auto const [it, first] = barriers_.emplace(std::tuple(c.generation, c.barrier, counter), result);
  if (!first && it->second != result)
    throw violation("barrier " + c.barrier + "::" + std::to_string(counter) + " ended as " +
                    std::string(name(it->second)) + " for one and as " + std::string(name(result)) +
                    " for another");
}

void world::fold(cc::reply const& r) {
  mix(raw(r.call));
  mix(r.body.index());
  if (!r.fault) return;
  mix(static_cast<std::uint64_t>(r.fault->code));
  mix(r.fault->source), mix(r.fault->reported);
  if (r.fault->barrier) mix(static_cast<std::uint64_t>(r.fault->barrier->counter));
  if (r.fault->mismatch) mix(raw(*r.fault->mismatch));
}

}  // namespace muster::coordination_simulation
