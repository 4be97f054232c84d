#include "server/core/values/value_store.hpp"

#include <algorithm>
#include <utility>

namespace muster::core {

namespace {
/// Limit for the kept arguments of finished closures. At the limit, the oldest arguments are
/// dropped.
constexpr std::uint64_t arguments_bytes_max = std::uint64_t{64} << 20;
}  // namespace

bool value_store::has_value(closure_id id) const {
  slot const c = records_.find(id);
  return c != no_slot && records_[c].state() == closure_state::succeeded &&
         records_[c].where != value_place::gone;
}

bool value_store::is_at(closure_id id, value_place where) const {
  slot const c = records_.find(id);
  return c != no_slot && records_[c].where == where;
}

std::optional<release_note> value_store::note_of(closure_id id) const {
  auto const it = release_notes_.find(id);
  return it == release_notes_.end() ? std::nullopt : std::optional(it->second);
}

void value_store::keep(slot c) {
  ++held_;
  put_in_memory(c);
}

[[gnu::always_inline]] inline void value_store::put_in_memory(slot c) {
  auto const& r = records_[c];
  auto& h = holders_[r.owner];
  h.bytes += r.value.size();
  auto const named = named_blob_bytes(r.value.view());
  h.blob_bytes += named;
  blob_bytes_ += named;
  memory_.add(r.value.size());
  if (r.state() != closure_state::succeeded) return;
  ++h.live;
  auto const id = records_.id_of(c);
  if (can_spill(r)) {
    in_memory_.push(id);
    in_memory_.sweep_if_long([this](closure_id i) { return is_at(i, value_place::memory); });
  }
  if (!h.holds) return;
  h.values.push(id);
  h.values.sweep_if_long([this](closure_id i) { return has_value(i); });
}

void value_store::let_go(slot c) {
  auto& r = records_[c];
  auto& h = holders_[r.owner];
  auto const id = records_.id_of(c);
  --held_;
  if (r.state() == closure_state::succeeded && r.where != value_place::gone) --h.live;
  switch (r.where) {
    case value_place::writing:
      writing_bytes_ -= r.value.size();
      spilled_.erase(id);
      moves_.push_back({move_kind::forget, id, {}});
      [[fallthrough]];
    case value_place::memory: {
      auto const named = named_blob_bytes(r.value.view());
      h.bytes -= r.value.size();
      h.blob_bytes -= named;
      blob_bytes_ -= named;
      memory_.take(r.value.size());
      break;
    }
    case value_place::disk: {
      auto const entry = spilled_.find(id);
      h.spilled_bytes -= entry->second;
      disk_.take(entry->second);
      --on_disk_count_;
      spilled_.erase(entry);
      if (auto* read = find_reading(id))
        read->orphan = true;
      else
        moves_.push_back({move_kind::forget, id, {}});
      break;
    }
    case value_place::gone:
      release_notes_.erase(id);
      break;
  }
  r.value = {};
  r.where = value_place::memory;
}

void value_store::forget_value(slot c) {
  auto const id = records_.id_of(c);
  if (!has_value(id)) return;
  changes_.values.push_back({id, value_place::memory, {}});
  let_go(c);
  ++held_;
  auto& h = holders_[records_[c].owner];
  ++h.live;
  h.values.push(id);
}

void value_store::drop(slot c, release_reason why, time_point now, bool restored) {
  bool const on_disk = records_[c].where == value_place::disk;
  auto const bytes = on_disk ? spilled_.at(records_.id_of(c)) : size_of_value(records_[c].value);
  let_go(c);
  ++held_;
  records_[c].where = value_place::gone;
  release_notes_.emplace(records_.id_of(c), release_note{why, now, bytes});
  changes_.values.push_back({records_.id_of(c), value_place::gone, why, restored});
}

closure_id value_store::oldest_of(session_number n) {
  return holders_[n].values.front([this](closure_id i) { return has_value(i); });
}

std::optional<release_reason> value_store::over_session_limit(session_number n) const {
  auto const& h = holders_[n];
  if (config_.session_values_max > 0 && h.live > config_.session_values_max)
    return release_reason::session_values;
  if (config_.session_value_bytes_max > 0 && h.live > 0 &&
      h.bytes + h.spilled_bytes > config_.session_value_bytes_max)
    return release_reason::session_bytes;
  return {};
}

slot value_store::pop_oldest_on_disk() {
  auto const id = on_disk_.front([this](closure_id i) { return is_at(i, value_place::disk); });
  check(id != closure_id{}, "a value on disk must be listed");
  on_disk_.pop();
  return records_.find(id);
}

slot value_store::pop_oldest_in_memory() {
  auto const id = in_memory_.front([this](closure_id i) { return is_at(i, value_place::memory); });
  if (id == closure_id{}) return no_slot;
  in_memory_.pop();
  return records_.find(id);
}

// The values being written must stay below the memory limit.
void value_store::write(time_point now) {
  if (now < retry_at_) return;
  while (bytes() - writing_bytes_ > spill_above() && writing_bytes_ < bytes_max()) {
    slot const c = pop_oldest_in_memory();
    if (c == no_slot) return;
    auto& r = records_[c];
    auto const id = records_.id_of(c);
    r.where = value_place::writing;
    writing_bytes_ += r.value.size();
    spilled_.emplace(id, r.value.size());
    moves_.push_back({move_kind::write, id, r.value});
  }
}

value_store::reading& value_store::read(slot c) {
  auto const id = records_.id_of(c);
  auto const [it, added] = reads_.try_emplace(id);
  if (added) {
    it->second.bytes = spilled_.at(id);
    reads_waiting_.push_back(id);
    send_reads();
  }
  return it->second;
}

value_store::reading* value_store::find_reading(closure_id id) {
  auto const it = reads_.find(id);
  return it == reads_.end() ? nullptr : &it->second;
}

value_store::reading const* value_store::find_reading(closure_id id) const {
  return const_cast<value_store*>(this)->find_reading(id);
}

std::vector<value_move> value_store::forget_all() const {
  std::vector<value_move> all;
  for (auto const& [id, bytes] : spilled_) all.push_back({move_kind::forget, id, {}});
  return all;
}

void value_store::send_reads() {
  while (reads_sent_ < reads_max && !reads_waiting_.empty()) {
    auto const id = reads_waiting_.front();
    reads_waiting_.pop_front();
    reads_.at(id).sent = true;
    ++reads_sent_;
    moves_.push_back({move_kind::read, id, {}});
  }
}

value_store::write_result value_store::written(value_moved const& m, time_point now) {
  slot const c = records_.find(m.closure);
  if (c == no_slot || records_[c].where != value_place::writing) return {};
  auto& r = records_[c];
  auto& h = holders_[r.owner];
  auto const bytes = r.value.size();
  writing_bytes_ -= bytes;
  if (!m.ok) {
    r.where = value_place::memory;
    spilled_.erase(m.closure);
    in_memory_.push_front(m.closure);
    bool const first = now >= retry_at_;
    retry_at_ = now + config_.spill_retry;
    if (failing_since_ == never) failing_since_ = now;
    return {true, first};
  }
  failing_since_ = never;
  r.where = value_place::disk;
  changes_.values.push_back({m.closure, value_place::disk, {}});
  r.value = {};
  memory_.take(bytes);
  h.bytes -= bytes;
  h.spilled_bytes += bytes;
  disk_.add(bytes);
  ++on_disk_count_;
  on_disk_.push(m.closure);
  on_disk_.sweep_if_long([this](closure_id i) { return is_at(i, value_place::disk); });
  return {};
}

std::optional<value_store::reading> value_store::read_back(value_moved const& m) {
  auto node = reads_.extract(m.closure);
  if (!node) return {};
  auto& r = node.mapped();
  check(r.sent, "only a value that was requested can be read back");
  --reads_sent_;
  send_reads();
  if (r.orphan) moves_.push_back({move_kind::forget, m.closure, {}});
  return std::move(r);
}

void value_store::keep_arguments(slot c) {
  auto const has_arguments = [this](closure_id id) {
    slot const v = records_.find(id);
    return v != no_slot && records_[v].args;
  };
  arguments_bytes_ += kept_bytes(records_[c]);
  with_arguments_.push(records_.id_of(c));
  with_arguments_.sweep_if_long(has_arguments);
  while (arguments_bytes_ > arguments_bytes_max) {
    auto const oldest = with_arguments_.front(has_arguments);
    with_arguments_.pop();
    slot const v = records_.find(oldest);
    if (is_name(records_[v].value)) copy(v);  // once copied, the value need not be rebuilt
    forget_arguments(v);
  }
}

void value_store::forget_arguments(slot c) {
  auto& r = records_[c];
  arguments_bytes_ -= kept_bytes(r);
  r.args = {};
  if (r.details) r.details->inputs.reset();
}

void value_store::keep_for_retry(slot c) {
  auto& args = records_[c].args;
  auto const owner = records_[c].owner;
  auto& h = holders_[owner];
  if (h.arguments_gone) return static_cast<void>(args = {});
  if (h.retry_turn == 0) retry_order_.emplace(h.retry_turn = ++last_retry_turn_, owner);
  h.with_arguments.push_back(records_.id_of(c));
  retry_bytes_ += args.size();
  while (retry_bytes_ > config_.retry_bytes_max) forget_oldest_arguments();
}

// Drops the arguments of only one closure of the oldest job at a time, so that only the necessary
// arguments are dropped. The oldest job can no longer be retried.
void value_store::forget_oldest_arguments() {
  auto const oldest = retry_order_.begin();
  auto& h = holders_[oldest->second];
  h.arguments_gone = true;
  auto& args = records_[records_.find(h.with_arguments.back())].args;
  retry_bytes_ -= args.size();
  args = {};
  h.with_arguments.pop_back();
  if (!h.with_arguments.empty()) return;
  h.retry_turn = 0;
  retry_order_.erase(oldest);
}

bool value_store::may_be_lost(closure_record const& r) const {
  return r.state() == closure_state::succeeded && !r.released && (can_spill(r) || is_name(r.value));
}

// Returns whether a value was lost, rather than released as intended (by age, by number or by its
// client).
bool value_store::lost(release_reason why) {
  return why == release_reason::bytes || why == release_reason::spill_bytes ||
         why == release_reason::unreadable || why == release_reason::holder_lost;
}

value_store::rebuilding* value_store::find_rebuilding(closure_id id) {
  auto const it = rebuilds_.find(id);
  return it == rebuilds_.end() ? nullptr : &it->second;
}

value_store::rebuilding const* value_store::find_rebuilding(closure_id id) const {
  return const_cast<value_store*>(this)->find_rebuilding(id);
}

std::uint32_t value_store::runs_of(closure_id id) const {
  auto const it = runs_.find(id);
  return it == runs_.end() ? 0 : it->second;
}

value_store::rebuilding& value_store::begin_rebuilding(closure_id id, std::uint32_t depth,
                                                       time_point now) {
  auto& again = rebuilds_[id];
  again.depth = depth;
  again.since = now;
  ++runs_[id];
  return again;
}

value_store::rebuilding value_store::end_rebuilding(closure_id id, blob const* value) {
  auto node = rebuilds_.extract(id);
  check(!node.empty(), "a recomputation must have been started by a closure that needs the value");
  slot const c = records_.find(id);
  if (value && c != no_slot && records_[c].where == value_place::gone) {
    records_[c].where = value_place::memory;
    changes_.values.push_back({.closure = id, .where = value_place::memory, .made_again = true});
    records_[c].value = *value;
    release_notes_.erase(id);
    put_in_memory(c);
  }
  return std::move(node.mapped());
}

bool value_store::repeats(std::map<session_id, std::uint64_t> const& expected) const {
  std::map<session_id, std::uint64_t> found;
  for (auto const& [id, read] : reads_)
    if (read.repeat != session_id{}) ++found[read.repeat];
  return std::all_of(expected.begin(), expected.end(),
                     [&](auto const& e) { return e.second == found[e.first]; });
}

std::string value_store::invalid() const {
  struct book {
    std::uint64_t memory = 0, disk = 0, live = 0, blobs = 0;
  };
  std::map<session_number, book> books;
  std::uint64_t for_retry = 0, arguments = 0, memory = 0, writing = 0, on_disk = 0, disk = 0,
                gone = 0, sent = 0, blobs = 0;
  std::string wrong;
  records_.for_each([&](slot c, closure_record const& r) {
    if (!ended(r.state())) return;
    auto& b = books[r.owner];
    (r.state() == closure_state::succeeded ? arguments : for_retry) += kept_bytes(r);
    b.memory += r.value.size(), memory += r.value.size();
    auto const named = named_blob_bytes(r.value.view());
    b.blobs += named, blobs += named;
    b.live += r.state() == closure_state::succeeded && r.where != value_place::gone;
    if (r.where == value_place::memory) return;
    auto const id = records_.id_of(c);
    if (r.state() != closure_state::succeeded)
      wrong = text(id) + " has not succeeded but is marked as having a value elsewhere";
    if ((r.where == value_place::gone) != release_notes_.contains(id) ||
        (r.where != value_place::gone) != spilled_.contains(id)) {
      wrong = text(id) + " has a value that is on disk or released, but the store does not list it";
      return;
    }
    if (r.where == value_place::gone) ++gone;
    if (r.where == value_place::writing) writing += r.value.size();
    if (r.where != value_place::disk) return;
    disk += spilled_.at(id), b.disk += spilled_.at(id), ++on_disk;
    if (r.value) wrong = text(id) + " has its value both on disk and in memory";
  });
  if (!wrong.empty()) return wrong;
  for (auto const& [id, read] : reads_) {
    sent += read.sent;
    if (!read.orphan && !spilled_.contains(id))
      return text(id) + " is being read but is not on disk";
  }
  if (memory != bytes() || writing != writing_bytes_ || disk != disk_bytes() ||
      on_disk != on_disk_count_ || blobs != blob_bytes_ || gone != release_notes_.size() ||
      sent != reads_sent_)
    return "the value counters do not match the closures";
  if (for_retry != retry_bytes_ || for_retry > config_.retry_bytes_max)
    return "the size of the arguments that are kept for retries is wrong";
  if (arguments != arguments_bytes_) return "the size of the kept arguments is wrong";
  for (auto const& [id, again] : rebuilds_) {
    slot const b = records_.find(again.by);
    if (b == no_slot || records_[b].token != raw(id))
      return text(id) + " is marked as being recomputed, but no closure recomputes it";
  }
  if (!reads_waiting_.empty() && sent < reads_max)
    return "a value is waiting to be read although a read could start";
  holders_.for_each([&](session_number n, holder const& h) {
    auto const& b = books[n];
    if (b.memory != h.bytes || b.disk != h.spilled_bytes || b.live != h.live ||
        b.blobs != h.blob_bytes)
      wrong = "a session's counters do not match its values";
  });
  return wrong;
}

}  // namespace muster::core
