// Values that move to the shell's disk and back. The core says what is to be written, read and
// forgotten and is told what came of it; in between a value that is written is still in memory, and
// one that is read stays on the disk.
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

// The oldest first, until what stays in memory is within the limit. No more is on its way at one
// time than the memory may hold.
void coordinator::state::write_values() {
  if (now < ledger.retry_at) return;
  while (value_bytes - ledger.writing_bytes > spill_above() &&
         ledger.writing_bytes < config.value_bytes_max) {
    auto const id = ledger.in_memory.front([this](closure_id i) {
      slot const c = closures.find(i);
      return c != no_slot && closures[c].where == value_place::memory;
    });
    if (id == closure_id{}) return;
    ledger.in_memory.pop();
    auto& r = closures[closures.find(id)];
    r.where = value_place::writing;
    ledger.writing_bytes += r.value.size();
    ledger.away.emplace(id, r.value.size());
    fx.value_moves.push_back({move_kind::write, id, r.value});
  }
}

// REQUIRES: its value is on the disk.
value_ledger::reading& coordinator::state::read_value(slot c) {
  auto const id = closures.id_of(c);
  auto const [it, added] = ledger.reads.try_emplace(id);
  if (added) {
    it->second.bytes = ledger.away.at(id);
    ledger.reads_waiting.push_back(id);
    send_reads();
  }
  return it->second;
}

void coordinator::state::do_not_repeat(session& s, closure_id id) {
  auto const read = ledger.reads.find(id);
  if (read == ledger.reads.end() || read->second.repeat == session_id{}) return;
  read->second.repeat = {};
  --s.repeating;
  settle_later(s);
}

void coordinator::state::send_reads() {
  while (ledger.reads_sent < value_ledger::reads_max && !ledger.reads_waiting.empty()) {
    auto const id = ledger.reads_waiting.front();
    ledger.reads_waiting.pop_front();
    ledger.reads.at(id).sent = true;
    ++ledger.reads_sent;
    fx.value_moves.push_back({move_kind::read, id, {}});
  }
}

void coordinator::state::moved(values_moved& e) {
  for (auto& m : e.moves) m.kind == move_kind::write ? written(m) : read_back(m);
}

void coordinator::state::written(value_moved& m) {
  slot const c = closures.find(m.closure);
  if (c == no_slot || closures[c].where != value_place::writing) return;  // released meanwhile
  auto& r = closures[c];
  auto const bytes = r.value.size();
  ledger.writing_bytes -= bytes;
  if (!m.ok) {
    r.where = value_place::memory;
    ledger.away.erase(m.closure);
    ledger.in_memory.push_front(m.closure);
    if (now >= ledger.retry_at)
      fx.remarks.push_back({remark_kind::spill_failed, "values",
                            m.error + "; values stay in memory up to --value-bytes-max, beyond it "
                                      "the oldest are dropped"});
    ledger.retry_at = now + config.spill_retry;
    return;
  }
  auto& s = *r.owner;
  r.where = value_place::disk;
  r.value = {};
  value_bytes -= bytes, s.value_bytes -= bytes;
  ledger.disk_bytes += bytes, s.spilled_bytes += bytes;
  ++ledger.on_disk_count;
  ++metrics.values_written;
  ledger.on_disk.push(m.closure);
  ledger.on_disk.sweep_if_long([this](closure_id i) {
    slot const v = closures.find(i);
    return v != no_slot && closures[v].where == value_place::disk;
  });
}

void coordinator::state::read_back(value_moved& m) {
  auto node = ledger.reads.extract(m.closure);
  if (!node) return;
  auto& reading = node.mapped();
  check(reading.sent, "only what was asked for is read back");
  --ledger.reads_sent;
  send_reads();
  if (reading.orphan) fx.value_moves.push_back({move_kind::forget, m.closure, {}});
  slot const c = closures.find(m.closure);
  if (m.ok) {
    ++metrics.values_read;
  } else {
    fx.remarks.push_back({remark_kind::spill_failed, text(m.closure), m.error});
    if (!reading.orphan) drop_value(c, release_reason::unreadable);
    if (!reading.orphan && reading.repeat == session_id{})
      if (auto* again = run_again(c)) {
        auto& waiting = again->dependents;
        waiting.insert(waiting.end(), reading.dependents.begin(), reading.dependents.end());
        return;
      }
  }
  tell_readers(m.closure, std::move(reading), m.ok ? &m.value : nullptr,
               m.ok ? std::string() : lost_for_good(m.closure));
}

// Those who asked: calls, closures that need it, a client that wants the outcome again.
void coordinator::state::tell_readers(closure_id id, value_ledger::reading reading,
                                      blob const* value, std::string why) {
  for (auto const call : waiters.of(id)) {
    waiter w;
    waiters.remove(call, &w);
    metrics.value_wait.add(now - w.since);
    if (value)
      answer(call, {}, value_reply{closure_state::succeeded, value_state::ready, *value, {}});
    else
      answer(call, {code::not_found, why});
  }
  if (!reading.dependents.empty())
    ended_inputs.push_back({id, value != nullptr, value ? *value : blob(),
                            value ? std::string() : "input: " + why,
                            std::move(reading.dependents)});
  if (reading.repeat == session_id{}) return;
  auto* s = find_session(reading.repeat);
  check(s, "a session stays until its outcomes are repeated");
  --s->repeating;
  settle_later(*s);
  if (slot const c = closures.find(id); c != no_slot) {
    auto o = outcome_of(c);
    if (o.ok && value && !closures[c].released) o.value = *value;
    fx.outcomes.push_back(std::move(o));
  } else {
    auto& o = fx.outcomes.emplace_back();
    o.session = reading.repeat;
    o.token = reading.token;
    o.ok = value != nullptr;
    if (value) o.value = *value;
    if (!o.ok) o.failure = {failure_kind::cancelled, "", why, "", "", 0};
  }
}

std::string coordinator::state::invalid_ledger() const {
  struct book {
    std::uint64_t memory = 0, disk = 0, live = 0, repeating = 0;
  };
  std::map<session const*, book> books;
  std::pair<session const*, book*> latest{};  // closures of a session stand side by side
  std::uint64_t arguments = 0, writing = 0, on_disk = 0, disk = 0, gone = 0, sent = 0;
  for (slot c = 0; c < closures.used(); ++c) {
    auto const& r = closures[c];
    if (!r.owner || !ended(r.state)) continue;
    if (r.owner != latest.first) latest = {r.owner, &books[r.owner]};
    auto& b = *latest.second;
    arguments += r.args.size();
    b.memory += r.value.size();
    b.live += r.state == closure_state::succeeded && r.where != value_place::gone;
    if (r.where == value_place::memory) continue;
    auto const id = closures.id_of(c);
    if (r.state != closure_state::succeeded) return text(id) + " has no value, and it is away";
    if ((r.where == value_place::gone) != ledger.gone.contains(id) ||
        (r.where != value_place::gone) != ledger.away.contains(id))
      return text(id) + " is elsewhere, unknown to the ledger";
    if (r.where == value_place::gone) ++gone;
    if (r.where == value_place::writing) writing += r.value.size();
    if (r.where != value_place::disk) continue;
    disk += ledger.away.at(id), b.disk += ledger.away.at(id), ++on_disk;
    if (r.value) return text(id) + " is on the disk and in memory";
  }
  for (auto const& [id, read] : ledger.reads) {
    sent += read.sent;
    if (auto const it = sessions.find(read.repeat); it != sessions.end())
      ++books[it->second.get()].repeating;
    if (!read.orphan && !ledger.away.contains(id)) return text(id) + " is read from nowhere";
  }
  if (writing != ledger.writing_bytes || disk != ledger.disk_bytes ||
      on_disk != ledger.on_disk_count || gone != ledger.gone.size() || sent != ledger.reads_sent)
    return "the books of values that moved do not match the closures";
  if (arguments != ledger.arguments_bytes) return "kept arguments are counted wrongly";
  if (!ledger.doomed.empty()) return "a closure that cannot run again was left";
  for (auto const& [id, again] : ledger.rebuilds) {
    slot const b = closures.find(again.by);
    if (b == no_slot || closures[b].owner != &rebuilders || closures[b].token != raw(id))
      return text(id) + " is made again by nobody";
  }
  if (!ledger.reads_waiting.empty() && sent < value_ledger::reads_max)
    return "a value waits to be read and its turn has come";
  for (auto const& [id, s] : sessions) {
    auto const& b = books[s.get()];
    if (b.memory != s->value_bytes || b.disk != s->spilled_bytes)
      return text(id) + " counts other bytes of values than it has";
    if (s->holding() && b.live != s->live_values)
      return text(id) + " counts other values than it holds";
    if (b.repeating != s->repeating) return text(id) + " waits for other repeats";
  }
  return {};
}

}  // namespace muster::core
