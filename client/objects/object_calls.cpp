#include "client/objects/object_calls.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/utf8.hpp"
#include "client/checks.hpp"
#include "client/wire.hpp"

namespace muster::detail {
namespace {

constexpr std::size_t name_bytes_max = 256;  // the server has the same limit

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
    if (!calls_->wait(call_, timeout))
      throw_late(timeout, calls_->explanation_of(call_->object, timeout));
    if (call_->error) raise(failure(*call_->error));
    return call_->output;
  }
  boost::asio::awaitable<void> async_wait(std::chrono::milliseconds timeout) const override {
    auto enter = [calls = calls_, call = call_](std::shared_ptr<waiting> const& w) {
      calls->enter(call, w);
    };
    bool const ended = co_await waiting::wait(timeout, enter);
    if (ended) co_return;
    auto asking = calls_->async_explanation_of(call_->object, timeout);
    auto const why = co_await std::move(asking);
    throw_late(timeout, why);
  }
  std::string id() const override { return {}; }
  std::string function() const override { return call_->shown; }
  void cancel() const override {}
  std::optional<std::string> text() const override {
    auto v = get(for_ever);
    if (v.encoding != encoding::json)
      throw std::invalid_argument("the output of '" + call_->shown +
                                  "' is bytes, which cannot be an argument");
    return std::move(v.bytes);
  }

 private:
  [[noreturn]] void throw_late(std::chrono::milliseconds timeout, std::string const& why) const {
    throw wait_timeout("the call of '" + call_->shown + "' was not answered within " +
                       in_ms(timeout) + why);
  }

  std::shared_ptr<object_calls> const calls_;
  object_calls::one const call_;
};

void check_method(std::string_view name) {
  if (name.empty() || name.size() > name_bytes_max || !is_utf8(name))
    throw std::invalid_argument("a method name must have 1 to " + std::to_string(name_bytes_max) +
                                " bytes of UTF-8");
}

}  // namespace

object_calls::one object_calls::made(object_place const& to, std::string_view method, value args) {
  auto made = std::make_shared<asked>();
  made->object = to.id;
  made->method = method;
  made->args = std::move(args.bytes);
  made->encoding = args.encoding;
  made->ticket = to.ticket;
  made->task = to.task;
  made->shown = to.class_name + "." + made->method;
  return made;
}

void object_calls::add_call(one const& a) {
  ++calls_;
  bytes_ += a->args.size();
  add(a);
}

object_calls::handle object_calls::call(object_place const& to, std::string_view method,
                                        value args) {
  check_method(method);
  auto const a = made(to, method, std::move(args));
  auto const bytes = a->args.size();
  lock held(mutex_);
  while (!end_reason_ && !has_room(bytes)) {
    auto oldest = pending_.begin();
    while (oldest != pending_.end() && oldest->second->what != asked::step::call) ++oldest;
    auto const first = oldest == pending_.end() ? refused_.front() : oldest->second;
    // If only the thread that waits in this function could make room (a cycle), the server fails
    // the first call.
    if (note_wait(*first)) {
      tell(held);
      held.lock();
    }
    changed_.wait(held, [&] { return end_reason_ || first->answered || has_room(bytes); });
  }
  throw_if_over();
  add_call(a);
  tell(held);
  return std::make_shared<call_handle const>(shared_from_this(), a);
}

std::vector<object_calls::handle> object_calls::call_sequentially(object_place const& to,
                                                                  std::string_view method,
                                                                  std::vector<std::string> args) {
  auto const left = std::make_shared<std::deque<one>>();
  std::vector<handle> all;
  for (auto& bytes : args) {
    left->push_back(made(to, method, {std::move(bytes), encoding::bytes}));
    left->back()->next = left;
    all.push_back(std::make_shared<call_handle const>(shared_from_this(), left->back()));
  }
  lock held(mutex_);
  if (end_reason_) left->clear();  // the queued calls own each other in a cycle
  throw_if_over();
  for (std::size_t n = 0; n < calls_in_flight_max && !left->empty(); ++n) {
    add_call(left->front());
    left->pop_front();
  }
  tell(held);
  return all;
}

void object_calls::erase(object_place const& of) {
  if (ticket_.empty())
    throw std::logic_error(
        "a function on a worker cannot delete an object; delete it with its coordinator");
  erased_(of.id);
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
  changed_.wait(held, [&made] { return made->answered; });  // the end of the session ends the wait
  held.unlock();
  if (made->error) raise(failure(*made->error));
  auto const& found = made->found;
  auto place = std::make_shared<object_place const>(
      object_place{found.object(), found.task(), found.class_name(), ticket_});
  return {std::move(place), shared_from_this()};
}

void object_calls::throw_if_over() const {
  if (end_reason_) raise(over(*end_reason_));
}

void object_calls::add(one a) {
  a->number = ++last_;
  for (auto const& within : a->waited_by) waits_.emplace_back(last_, within);
  pending_.emplace(last_, a);
  out_.push_back(std::move(a));
}

void object_calls::tell(lock& held) {
  bool const told = std::exchange(stream_woken_, true);
  held.unlock();
  if (!told) wake_();
}

boost::asio::awaitable<std::string> object_calls::async_explanation_of(
    std::uint64_t object, std::chrono::milliseconds waited) const {
  if (!async_explainer_) co_return std::string();
  auto asking = async_explainer_(object, waited);
  co_return co_await std::move(asking);
}

bool object_calls::note_wait(asked& a) {
  auto const* within = object_caller_scope::within();
  if (!within || a.answered) return false;
  auto& all = a.waited_by;
  if (std::find(all.begin(), all.end(), *within) != all.end()) return false;
  if (all.size() >= waits_max) all.erase(all.begin());
  all.push_back(*within);
  if (a.number == 0) return false;  // the wait is reported when the request is sent
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

}  // namespace muster::detail
