// Which values are kept, and what is said of those that are not. What is released goes the oldest
// first: a finished job as a whole, a value of a session alone, its record staying, so that its
// client does not run the closure again.
#include <algorithm>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {

constexpr std::size_t notes_max = 10'000;
constexpr duration remark_pause = std::chrono::minutes(1);

std::string seconds(duration d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(d).count()) + " s";
}

}  // namespace

bool coordinator::state::has_value(closure_id id) const {
  slot const c = closures.find(id);
  return c != no_slot && closures[c].state == closure_state::succeeded &&
         closures[c].where != value_place::gone;
}

void coordinator::state::keep_value(slot c) {
  auto& r = closures[c];
  auto& s = *r.owner;
  ++values_held;
  s.value_bytes += r.value.size();
  value_bytes += r.value.size();
  if (r.state != closure_state::succeeded) return;
  auto const id = closures.id_of(c);
  if (config.spill && r.value.size() >= config.spill_value_bytes_min) {
    ledger.in_memory.push(id);
    ledger.in_memory.sweep_if_long([this](closure_id i) {
      slot const v = closures.find(i);
      return v != no_slot && closures[v].where == value_place::memory;
    });
  }
  if (!s.holding()) return;
  ++s.live_values;
  s.values.push(id);
  s.values.sweep_if_long([this](closure_id i) { return has_value(i); });
  if (s.age_alarm == never) set_age_alarm(s, now);
}

void coordinator::state::let_value_go(slot c) {
  auto& r = closures[c];
  auto& s = *r.owner;
  auto const id = closures.id_of(c);
  --values_held;
  if (s.holding() && r.state == closure_state::succeeded && r.where != value_place::gone)
    --s.live_values;
  switch (r.where) {
    case value_place::writing:
      ledger.writing_bytes -= r.value.size();
      ledger.away.erase(id);
      fx.value_moves.push_back({move_kind::forget, id, {}});
      [[fallthrough]];
    case value_place::memory:
      s.value_bytes -= r.value.size();
      value_bytes -= r.value.size();
      break;
    case value_place::disk: {
      auto const entry = ledger.away.find(id);
      s.spilled_bytes -= entry->second;
      ledger.disk_bytes -= entry->second;
      --ledger.on_disk_count;
      ledger.away.erase(entry);
      if (auto const read = ledger.reads.find(id); read != ledger.reads.end())
        read->second.orphan = true;
      else
        fx.value_moves.push_back({move_kind::forget, id, {}});
      break;
    }
    case value_place::gone:
      ledger.gone.erase(id);
      break;
  }
  r.value = {};
  r.where = value_place::memory;
}

void coordinator::state::forget_value(slot c) {
  auto& s = *closures[c].owner;
  if (!has_value(closures.id_of(c))) return;
  let_value_go(c);
  ++values_held;
  ++s.live_values;
  s.values.push(closures.id_of(c));
}

void coordinator::state::drop_value(slot c, release_reason why) {
  let_value_go(c);
  ++values_held;  // as a record
  closures[c].where = value_place::gone;
  ledger.gone.emplace(closures.id_of(c), release_note{why, now});
  ++metrics.values_dropped[static_cast<std::size_t>(why)];
  if (now < dropped_remark_at) return;
  dropped_remark_at = now + remark_pause;
  fx.remarks.push_back({remark_kind::values_dropped, "values",
                        released_text(closures.id_of(c)) +
                            "; more of them within the next minute go without a line"});
}

bool coordinator::state::forget_oldest_job(release_reason why) {
  while (!finished_jobs.empty()) {
    auto* s = find_session(finished_jobs.front());
    finished_jobs.pop_front();
    if (!s) continue;
    metrics.values_dropped[static_cast<std::size_t>(why)] += s->counts.succeeded;
    release_session(*s, why);
    return true;
  }
  return false;
}

// Of all sessions and jobs, unfinished ones too: only when the disk does not take them.
bool coordinator::state::drop_oldest_in_memory() {
  auto const id = ledger.in_memory.front([this](closure_id i) {
    slot const c = closures.find(i);
    return c != no_slot && closures[c].where == value_place::memory;
  });
  if (id == closure_id{}) return false;
  ledger.in_memory.pop();
  drop_value(closures.find(id), release_reason::bytes);
  return true;
}

void coordinator::state::limit_values(session& s) {
  auto const drop_oldest = [&](release_reason why) {
    auto const id = s.values.front([this](closure_id i) { return has_value(i); });
    check(id != closure_id{}, "a session with values knows them");
    s.values.pop();
    drop_value(closures.find(id), why);
  };
  while (config.session_values_max > 0 && s.live_values > config.session_values_max)
    drop_oldest(release_reason::session_values);
  while (config.session_value_bytes_max > 0 && s.live_values > 0 &&
         s.value_bytes + s.spilled_bytes > config.session_value_bytes_max)
    drop_oldest(release_reason::session_bytes);
}

std::size_t coordinator::state::spill_above() const {
  return config.spill_above > 0 ? config.spill_above : config.value_bytes_max / 2;
}

bool coordinator::state::over_a_limit() const {
  return value_bytes > (config.spill ? spill_above() : config.value_bytes_max) ||
         ledger.disk_bytes > config.spill_bytes_max || finished_count > config.finished_jobs_max;
}

void coordinator::state::keep_within_limits() {
  while (finished_count > config.finished_jobs_max)
    if (!forget_oldest_job(release_reason::jobs)) break;
  while (ledger.disk_bytes > config.spill_bytes_max) {
    auto const id = ledger.on_disk.front([this](closure_id i) {
      slot const c = closures.find(i);
      return c != no_slot && closures[c].where == value_place::disk;
    });
    check(id != closure_id{}, "what is on the disk is known");
    ledger.on_disk.pop();
    drop_value(closures.find(id), release_reason::spill_bytes);
  }
  if (config.spill) write_values();
  while (value_bytes - ledger.writing_bytes > config.value_bytes_max) {
    if (config.spill && drop_oldest_in_memory()) continue;
    if (!forget_oldest_job(release_reason::bytes)) break;
  }
}

void coordinator::state::set_age_alarm(session& s, time_point kept_since) {
  if (config.value_age == duration{}) return;
  s.age_alarm = kept_since + config.value_age;
  alarms.set(s.age_alarm, alarm_kind::value_age, raw(s.id));
}

void coordinator::state::age_rang(session_id id) {
  auto& s = *find_session(id);
  s.age_alarm = never;
  if (s.terminal()) {
    std::erase(finished_jobs, id);
    metrics.values_dropped[static_cast<std::size_t>(release_reason::age)] += s.counts.succeeded;
    return release_session(s, release_reason::age);
  }
  auto const oldest = [&] { return s.values.front([this](closure_id i) { return has_value(i); }); };
  for (auto v = oldest(); v != closure_id{}; v = oldest()) {
    slot const c = closures.find(v);
    if (closures[c].finished + config.value_age > now)
      return set_age_alarm(s, closures[c].finished);
    s.values.pop();
    drop_value(c, release_reason::age);
  }
}

std::string coordinator::state::when_and_why(release_note const& n) const {
  auto const bytes = [](std::uint64_t b) { return std::to_string(b) + " bytes"; };
  auto const why = [&]() -> std::string {
    switch (n.why) {
      case release_reason::client:
        return "its client released it, or took it as it came";
      case release_reason::session_end:
        return "its session has ended";
      case release_reason::job_deleted:
        return "its job was deleted";
      case release_reason::jobs:
        return "more jobs than --jobs-kept (" + std::to_string(config.finished_jobs_max) +
               ") have finished since";
      case release_reason::bytes:
        return "values took more memory than --value-bytes-max (" + bytes(config.value_bytes_max) +
               (config.spill ? "), and --spill-dir did not take them"
                             : "); --spill-dir would have kept it");
      case release_reason::age:
        return "it was older than --value-age (" + seconds(config.value_age) + ")";
      case release_reason::session_values:
        return "its session held more values than --session-values-max (" +
               std::to_string(config.session_values_max) + ")";
      case release_reason::session_bytes:
        return "its session's values took more than --session-value-bytes-max (" +
               bytes(config.session_value_bytes_max) + ")";
      case release_reason::spill_bytes:
        return "values on the disk took more than --spill-bytes-max (" +
               bytes(config.spill_bytes_max) + ")";
      case release_reason::unreadable:
        return "it could not be read back from --spill-dir; the log says why";
    }
    return "?";
  };
  return seconds(now - n.at) + " ago: " + why();
}

std::string coordinator::state::released_text(closure_id id) const {
  auto const it = ledger.gone.find(id);
  return "the value of " + text(id) + " was released" +
         (it == ledger.gone.end() ? std::string() : " " + when_and_why(it->second));
}

// As much as is known of a closure without a record, or without its value.
status coordinator::state::unknown_value(closure_id id) const {
  if (ledger.gone.contains(id)) return {code::not_found, released_text(id)};
  if (auto const note = closures.note_of(id))
    return {code::not_found, "the value of " + text(id) + " was released " + when_and_why(*note)};
  return {code::not_found, "there is no " + text(id) + ", or its value was released"};
}

status coordinator::state::unknown_session(session_id id) const {
  bool const was = raw(id) != 0 && raw(id) <= last_session;
  if (!was) return {code::not_found, "there is no " + text(id)};
  auto const it = session_notes.find(id);
  return {code::not_found,
          text(id) + " is finished and forgotten" +
              (it == session_notes.end() ? std::string() : ", " + when_and_why(it->second))};
}

void coordinator::state::remember_session(session_id id, release_reason why) {
  if (why == release_reason::session_end) return;
  session_notes.emplace(id, release_note{why, now});
  session_notes_order.push_back(id);
  if (session_notes_order.size() <= notes_max) return;
  session_notes.erase(session_notes_order.front());
  session_notes_order.pop_front();
}

}  // namespace muster::core
