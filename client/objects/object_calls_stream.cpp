#include <algorithm>
#include <iterator>
#include <utility>

#include "client/objects/object_calls.hpp"
#include "client/wire.hpp"

namespace muster::detail {
namespace {

/// Returns true if a request that failed because the server had no room can be resent. Reads and
/// updates of variables can run after later requests. Without a retry, a lost update would not be
/// reported.
bool may_be_repeated(object_calls::asked const& a, v1::Failure const& why) {
  constexpr std::string_view reads[] = {"read", "read_rows", "gather", "info", "save", "cut_rows"};
  constexpr std::string_view updates[] = {"assign_add", "assign_sub", "scatter_add", "scatter_sub",
                                          "sgd",        "sgd_rows",   "adam",        "adam_rows",
                                          "begin_cut",  "end_cut"};
  if (a.encoding != encoding::bytes) return false;
  auto const is_of = [&a](auto const& all) {
    return std::find(std::begin(all), std::end(all), a.method) != std::end(all);
  };
  bool const for_call = why.reason() == v1::NO_ROOM_FOR_CALL;
  return (for_call && is_of(updates)) ||
         ((for_call || why.reason() == v1::NO_ROOM_FOR_VALUE) && is_of(reads));
}

}  // namespace

failure object_calls::over(std::string const& reason) {
  return {failure_kind::dependency_lost, "muster::cluster_coordinator", reason};
}

void object_calls::write(asked const& a, v1::ObjectRequests& to) const {
  switch (a.what) {
    case asked::step::make:
      if (!a.create.function().empty()) {
        *to.add_create() = a.create;
        return;
      }
      {
        auto& looked_for = *to.add_find();
        looked_for.set_number(a.number);
        looked_for.set_name(a.create.name());
      }
      return;
    case asked::step::call:
      if (ticket_.empty()) to.set_ticket(a.ticket);
      to.add_number(a.number);
      to.add_object(a.object);
      to.add_method(a.method);
      to.add_args(a.args);
      to.add_encoding(a.encoding == encoding::bytes ? v1::BYTES : v1::JSON);
      return;
    case asked::step::drop:
      to.add_drop(a.object);
      return;
  }
}

bool object_calls::fill(v1::ObjectRequests& to) {
  lock held(mutex_);
  for (auto const number : std::exchange(taken_, {})) {
    to.add_taken(number);
    sent_acknowledgements_.push_back({number, last_});
  }
  taken_bytes_ = 0;
  std::size_t rows = 0, bytes = 0;
  one last;
  while (!out_.empty() && rows < per_message_max) {
    auto const& next = out_.front();
    bytes += next->size();
    if (rows > 0 && bytes > bytes_per_message_max) break;
    // A message is processed in the order of its steps, and all its calls have the same ticket.
    if (last && (next->what < last->what || (ticket_.empty() && next->ticket != last->ticket)))
      break;
    last = next;
    write(*next, to);
    out_.pop_front();
    ++rows;
  }
  if (out_.empty()) {
    for (auto const& [number, within] : std::exchange(waits_, {})) {
      auto& w = *to.add_wait();
      w.set_number(number);
      w.set_within_caller(within.caller);
      w.set_within_worker(within.of_worker);
      w.set_within_number(within.number);
    }
    stream_woken_ = false;
  }
  if (rows == 0 && to.taken_size() == 0 && to.wait_size() == 0) return false;
  if (!ticket_.empty() && !std::exchange(ticket_sent_, true)) to.set_ticket(ticket_);
  return true;
}

bool object_calls::has_more() const {
  lock held(mutex_);
  return stream_woken_ && (!out_.empty() || !taken_.empty() || !waits_.empty());
}

void object_calls::again() {
  lock held(mutex_);
  ticket_sent_ = false;
  out_.clear();
  waits_.clear();
  for (auto const& [number, a] : pending_) {
    out_.push_back(a);
    for (auto const& within : a->waited_by) waits_.emplace_back(number, within);
  }
  std::vector<std::uint64_t> taken;
  for (auto const& s : std::exchange(sent_acknowledgements_, {})) taken.push_back(s.number);
  taken_.insert(taken_.begin(), taken.begin(), taken.end());
  if (!out_.empty() || !taken_.empty()) tell(held);
}

void object_calls::settle(asked& a, std::vector<std::shared_ptr<waiting>>& resumed) {
  if (a.what == asked::step::call) {
    --calls_;
    bytes_ -= a.args.size();
  }
  a.args = {};
  a.create.clear_args();
  a.answered = true;
  a.waited_by.clear();
  if (auto const left = std::exchange(a.next, nullptr); left && !left->empty() && !end_reason_) {
    add_call(left->front());
    left->pop_front();
  }
  for (auto& w : std::exchange(a.waiters, {})) resumed.push_back(std::move(w));
}

void object_calls::acknowledge_before(std::uint64_t number) {
  while (!sent_acknowledgements_.empty() && sent_acknowledgements_.front().last < number)
    sent_acknowledgements_.pop_front();
  while (!drops_.empty() && drops_.front() < number) {
    pending_.erase(drops_.front());
    drops_.pop_front();
  }
}

void object_calls::take(v1::ObjectAnswers const& m) {
  std::vector<std::shared_ptr<waiting>> resumed;
  std::vector<one> lost;
  lock held(mutex_);
  for (auto const& found : m.found()) {
    auto const it = pending_.find(found.number());
    if (it == pending_.end()) continue;  // duplicate
    auto const a = it->second;
    pending_.erase(it);
    a->found = found;
    if (found.has_failure()) a->error = from_wire(found.failure());
    settle(*a, resumed);
    acknowledge_before(found.number());
  }
  proto::sparse_column failures(m.failure());
  int const n = std::min(m.number_size(), m.value_size());
  for (int i = 0; i < n; ++i) {
    auto const* why = failures.at(i);
    taken_.push_back(m.number(i));
    taken_bytes_ += m.value(i).size();
    acknowledge_before(m.number(i));
    auto const it = pending_.find(m.number(i));
    if (it == pending_.end()) continue;
    auto const a = it->second;
    pending_.erase(it);
    if (why && may_be_repeated(*a, *why)) {
      refused_.push_back(a);
      continue;
    }
    if (why) {
      a->error = from_wire(*why);
      if (why->reason() == v1::SERVER_RESTARTED) {
        a->error->message = "UNAVAILABLE: " + a->shown + " on " + a->task +
                            ": the object no longer exists, because the server was restarted";
        a->error->dependencies = {a->task};
        lost.push_back(a);
      }
    } else {
      a->output = {m.value(i), encoding_at(m.encoding(), i)};
    }
    settle(*a, resumed);
  }
  bool const repeats = !refused_.empty() && !std::exchange(repeats_, true);
  auto const pause = pause_;
  if (refused_.empty())
    pause_ = repeat_min;
  else if (repeats)
    pause_ = std::min(2 * pause_, repeat_max);
  changed_.notify_all();
  if (taken_.size() >= taken_max || taken_bytes_ >= taken_bytes_max || !out_.empty())
    tell(held);
  else
    held.unlock();
  if (repeats) later_(pause);
  for (auto const& a : lost) lost_(a->task, *a->error);
  for (auto const& w : resumed) w->resume(true);
}

void object_calls::repeat() {
  lock held(mutex_);
  repeats_ = false;
  for (auto const& a : std::exchange(refused_, {})) add(a);
  if (!out_.empty()) tell(held);
}

void object_calls::end(std::string const& reason) {
  std::vector<std::shared_ptr<waiting>> resumed;
  lock held(mutex_);
  if (end_reason_) return;
  end_reason_ = reason;
  std::vector<one> all = std::exchange(refused_, {});
  for (auto const& [number, a] : std::exchange(pending_, {})) all.push_back(a);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const a = all[i];
    for (auto const left = a->next; left && !left->empty(); left->pop_front()) {
      ++calls_;  // the request counts as in flight
      bytes_ += left->front()->args.size();
      all.push_back(left->front());
    }
    a->error = over(reason);
    settle(*a, resumed);
  }
  out_.clear();
  drops_.clear();
  taken_.clear();
  sent_acknowledgements_.clear();
  waits_.clear();
  changed_.notify_all();
  held.unlock();
  for (auto const& w : resumed) w->resume(true);
}

}  // namespace muster::detail
