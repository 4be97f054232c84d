#include "client/objects/object_calls.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/utf8.hpp"
#include "client/checks.hpp"
#include "client/wire.hpp"

namespace muster::detail {
namespace {

constexpr std::size_t name_bytes_max = 256;  // the server's, too

/// The value of a call, behind the same handle as that of a closure.
class call_handle final : public value_handle {
 public:
  call_handle(std::shared_ptr<object_calls> calls, object_calls::one call)
      : calls_(std::move(calls)), call_(std::move(call)) {}

  value_status status() const override {
    if (!calls_->answered(call_)) return value_status::not_ready;
    bool const lost = call_->error && call_->error->kind == failure_kind::dependency_lost;
    return lost ? value_status::aborted : value_status::ready;
  }
  value get(std::chrono::milliseconds timeout) const override {
    if (!calls_->wait(call_, timeout)) throw_late(timeout);
    if (call_->error) raise(failure(*call_->error));
    return call_->output;
  }
  boost::asio::awaitable<void> async_wait(std::chrono::milliseconds timeout) const override {
    auto enter = [calls = calls_, call = call_](std::shared_ptr<waiting> const& w) {
      calls->enter(call, w);
    };
    bool const ended = co_await waiting::wait(timeout, enter);
    if (!ended) throw_late(timeout);
  }
  std::string id() const override { return {}; }
  std::string function() const override { return call_->shown; }
  void cancel() const override {}
  std::optional<std::string> text() const override {
    auto v = get(for_ever);
    if (v.encoding != encoding::json)
      throw std::invalid_argument("the output of '" + call_->shown +
                                  "' is bytes, which are no argument");
    return std::move(v.bytes);
  }

 private:
  [[noreturn]] void throw_late(std::chrono::milliseconds timeout) const {
    throw wait_timeout("the call of '" + call_->shown + "' has not been answered within " +
                       in_ms(timeout));
  }

  std::shared_ptr<object_calls> const calls_;
  object_calls::one const call_;
};

failure over(std::string const& reason) {
  return {failure_kind::dependency_lost, "muster::cluster_coordinator", reason};
}

void check_method(std::string_view name) {
  if (name.empty() || name.size() > name_bytes_max || !is_utf8(name))
    throw std::invalid_argument("the name of a method has 1 to " + std::to_string(name_bytes_max) +
                                " bytes of UTF-8");
}

}  // namespace

// Users.

std::shared_ptr<value_handle const> object_calls::call(object_place const& to,
                                                       std::string_view method, std::string args) {
  check_method(method);
  auto made = std::make_shared<asked>();
  made->object = to.id;
  made->method = method;
  made->args = std::move(args);
  made->ticket = to.ticket;
  made->shown = to.class_name + "." + made->method;
  auto const bytes = made->args.size();
  lock held(mutex_);
  while (!over_ && !has_room(bytes)) {
    auto oldest = pending_.begin();
    while (oldest->second->what != asked::step::call) ++oldest;
    auto const first = oldest->second;
    // What makes room may wait for who waits here: then the first is answered with that error.
    if (note_wait(*first)) {
      tell(held);
      held.lock();
    }
    changed_.wait(held, [&] { return over_ || first->answered || has_room(bytes); });
  }
  throw_if_over();
  ++calls_;
  bytes_ += bytes;
  add(made);
  tell(held);
  return std::make_shared<call_handle const>(shared_from_this(), std::move(made));
}

void object_calls::erase(object_place const& of) {
  if (ticket_.empty())
    throw std::logic_error("functions on workers call objects, coordinators delete them");
  auto made = std::make_shared<asked>();
  made->what = asked::step::drop;
  made->object = of.id;
  lock held(mutex_);
  throw_if_over();
  add(std::move(made));
  drops_.push_back(last_);
  if (drops_.size() > drops_max) {
    pending_.erase(drops_.front());
    drops_.pop_front();
  }
  tell(held);
}

remote_object object_calls::create(v1::NewObject what) {
  check_function_name(what.function());
  if (what.name().size() > name_bytes_max)
    throw std::invalid_argument("object_options.name: " + std::to_string(what.name().size()) +
                                " bytes, the limit is " + std::to_string(name_bytes_max));
  if (what.detached() && what.name().empty())
    throw std::invalid_argument(
        "object_options.detached: an object that outlives its coordinator "
        "needs a name");
  if (what.concurrency() == 0)
    throw std::invalid_argument("object_options.concurrency: 0, must be at least 1");
  return ask(std::move(what));
}

remote_object object_calls::find(std::string const& name) {
  v1::NewObject what;
  what.set_name(name);
  return ask(std::move(what));
}

remote_object object_calls::ask(v1::NewObject what) {
  auto const made = std::make_shared<asked>();
  made->what = asked::step::make;
  made->create = std::move(what);
  lock held(mutex_);
  throw_if_over();
  add(made);
  made->create.set_number(last_);
  tell(held);
  held.lock();
  changed_.wait(held, [&made] { return made->answered; });  // ends with the session at the latest
  held.unlock();
  if (made->error) raise(failure(*made->error));
  auto const& found = made->found;
  auto place = std::make_shared<object_place const>(
      object_place{found.object(), found.task(), found.class_name(), ticket_});
  return {std::move(place), shared_from_this()};
}

void object_calls::throw_if_over() const {
  if (over_) raise(over(*over_));
}

void object_calls::add(one a) {
  a->number = ++last_;
  pending_.emplace(last_, a);
  out_.push_back(std::move(a));
}

void object_calls::tell(lock& held) {
  bool const told = std::exchange(told_, true);
  held.unlock();
  if (!told) wake_();
}

// Who waits.

bool object_calls::note_wait(asked& a) {
  auto const* within = calls_here::within();
  if (!within || a.answered) return false;
  auto& all = a.waited_by;
  if (std::find(all.begin(), all.end(), *within) != all.end()) return false;
  if (all.size() >= waits_max) all.erase(all.begin());
  all.push_back(*within);
  waits_.emplace_back(a.number, *within);
  return true;
}

bool object_calls::wait(one const& a, std::chrono::milliseconds timeout) {
  lock held(mutex_);
  if (a->answered) return true;
  if (note_wait(*a)) {
    tell(held);
    held.lock();
  }
  return changed_.wait_for(held, timeout, [&a] { return a->answered; });
}

bool object_calls::answered(one const& a) const {
  lock held(mutex_);
  return a->answered;
}

void object_calls::enter(one const& a, std::shared_ptr<waiting> const& w) {
  lock held(mutex_);
  if (a->answered) {
    held.unlock();
    return w->resume(true);
  }
  a->waiters.push_back(w);
  if (note_wait(*a)) tell(held);
}

// The stream.

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
      to.add_encoding(v1::JSON);
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
    said_.push_back({number, last_});
  }
  taken_bytes_ = 0;
  std::size_t rows = 0, bytes = 0;
  one last;
  while (!out_.empty() && rows < per_message_max) {
    auto const& next = out_.front();
    bytes += next->size();
    if (rows > 0 && bytes > bytes_per_message_max) break;
    // A message is read in the order of its steps, and has the calls of one ticket.
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
    told_ = false;
  }
  if (rows == 0 && to.taken_size() == 0 && to.wait_size() == 0) return false;
  if (!ticket_.empty() && !std::exchange(told_ticket_, true)) to.set_ticket(ticket_);
  return true;
}

bool object_calls::has_more() const {
  lock held(mutex_);
  return told_ && (!out_.empty() || !taken_.empty() || !waits_.empty());
}

void object_calls::again() {
  lock held(mutex_);
  told_ticket_ = false;
  out_.clear();
  waits_.clear();
  for (auto const& [number, a] : pending_) {
    out_.push_back(a);
    for (auto const& within : a->waited_by) waits_.emplace_back(number, within);
  }
  std::vector<std::uint64_t> taken;
  for (auto const& s : std::exchange(said_, {})) taken.push_back(s.number);
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
  for (auto& w : std::exchange(a.waiters, {})) resumed.push_back(std::move(w));
}

void object_calls::heard_before(std::uint64_t number) {
  while (!said_.empty() && said_.front().last < number) said_.pop_front();
  while (!drops_.empty() && drops_.front() < number) {
    pending_.erase(drops_.front());
    drops_.pop_front();
  }
}

void object_calls::take(v1::ObjectAnswers const& m) {
  std::vector<std::shared_ptr<waiting>> resumed;
  lock held(mutex_);
  for (auto const& found : m.found()) {
    auto const it = pending_.find(found.number());
    if (it == pending_.end()) continue;  // repeated
    auto const a = it->second;
    pending_.erase(it);
    a->found = found;
    if (found.has_failure()) a->error = from_wire(found.failure());
    settle(*a, resumed);
    heard_before(found.number());
  }
  proto::sparse_column failures(m.failure());
  int const n = std::min(m.number_size(), m.value_size());
  for (int i = 0; i < n; ++i) {
    auto const* why = failures.at(i);
    taken_.push_back(m.number(i));
    taken_bytes_ += m.value(i).size();
    auto const it = pending_.find(m.number(i));
    if (it == pending_.end()) continue;
    auto const a = it->second;
    pending_.erase(it);
    if (why)
      a->error = from_wire(*why);
    else
      a->output = {m.value(i), encoding_at(m.encoding(), i)};
    settle(*a, resumed);
    heard_before(m.number(i));
  }
  changed_.notify_all();
  if (taken_.size() >= taken_max || taken_bytes_ >= taken_bytes_max)
    tell(held);
  else
    held.unlock();
  for (auto const& w : resumed) w->resume(true);
}

void object_calls::end(std::string const& reason) {
  std::vector<std::shared_ptr<waiting>> resumed;
  lock held(mutex_);
  if (over_) return;
  over_ = reason;
  for (auto const& [number, a] : std::exchange(pending_, {})) {
    a->error = over(reason);
    settle(*a, resumed);
  }
  out_.clear();
  drops_.clear();
  taken_.clear();
  said_.clear();
  waits_.clear();
  changed_.notify_all();
  held.unlock();
  for (auto const& w : resumed) w->resume(true);
}

}  // namespace muster::detail
