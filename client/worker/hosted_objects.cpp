#include "client/worker/hosted_objects.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <system_error>

#include "client/checks.hpp"
#include "client/variables/stored_variable.hpp"
#include "client/wire.hpp"
#include "client/worker/job.hpp"
#include "muster/function_error.hpp"

namespace muster {
namespace {

std::string const& name_of(detail::class_entry const& c) {
  return c.name;
}
template <class Method>
std::string const& name_of(Method const& m) {
  return m.first;
}

template <class Named>
std::string names_of(Named const& all) {
  std::string names;
  for (auto const& named : all) names += (names.empty() ? "" : ", ") + name_of(named);
  return names.empty() ? "none" : names;
}

}  // namespace

void hosted_objects::add(detail::class_entry c) {
  check_function_name(c.name);
  for (auto const& other : classes_)
    if (other.name == c.name)
      throw std::invalid_argument("a class named '" + c.name + "' already exists");
  if (!c.make)
    throw std::invalid_argument("the class '" + c.name +
                                "' has no constructor that creates objects");
  if (c.concurrency == 0)
    throw std::invalid_argument("the class '" + c.name + "': concurrency: 0, must be at least 1");
  classes_.push_back(std::move(c));
}

void hosted_objects::begin(std::function<void()> wake,
                           std::function<void(std::chrono::milliseconds)> later) {
  wake_ = wake;
  calls_->begin(std::move(wake), std::move(later));
}

void hosted_objects::welcomed(std::shared_ptr<worker_identity const> me) {
  std::lock_guard held(mutex_);
  me_ = std::move(me);
}

void hosted_objects::take(v1::ObjectOrders& orders) {
  join_over();
  if (orders.begin()) {
    std::set<std::uint64_t> const kept(orders.kept().begin(), orders.kept().end());
    std::vector<std::uint64_t> others;
    for (auto const& [id, o] : objects_)
      if (!kept.contains(id)) others.push_back(id);
    for (auto const id : others) drop(id);
    calls_->again();
  }
  for (auto& b : *orders.mutable_build()) build(b);
  take_calls(orders);
  for (auto const id : orders.drop()) drop(id);
  if (orders.answers_taken() == 0) return;
  std::lock_guard held(mutex_);
  auto const end = kept_by_number_.upper_bound(orders.answers_taken());
  for (auto it = kept_by_number_.begin(); it != end; ++it) {
    auto const k = kept_.find(it->second);
    // A resent answer is stored only under its newest number.
    if (k != kept_.end() && k->second.number == it->first) kept_.erase(k);
  }
  kept_by_number_.erase(kept_by_number_.begin(), end);
}

void hosted_objects::build(v1::BuildObject& b) {
  auto const id = b.object();
  {
    std::unique_lock held(mutex_);
    auto const it = objects_.find(id);
    bool const has_failed = failed_.contains(id);
    bool const is_made = it != objects_.end() && it->second->made;
    if (has_failed || is_made) {
      built_.insert(id);
      held.unlock();
      return wake_stream();
    }
    if (it != objects_.end()) return;  // the object is reported when it is ready
  }
  failure why;
  auto const own = std::find_if(classes_.begin(), classes_.end(),
                                [&](auto const& c) { return c.name == b.function(); });
  auto const* const of = own != classes_.end() ? &*own : detail::built_in_class(b.function());
  auto o = std::make_shared<hosted>();
  o->id = id;
  o->build.Swap(&b);
  if (!of) {
    why = {failure_kind::stale_handle, "muster::no_class",
           "this C++ worker has no class '" + o->build.function() +
               "'; its classes are: " + names_of(classes_)};
    return report_built(id, &why);
  }
  o->of = of;
  if (o->build.concurrency() > of->concurrency) {
    why = {failure_kind::input, "muster::concurrency_error",
           "concurrency: " + std::to_string(o->build.concurrency()) + ", but the class '" +
               of->name + "' allows at most " + std::to_string(of->concurrency)};
    return report_built(id, &why);
  }
  bool started = false;
  {
    std::lock_guard held(mutex_);
    started = start_thread(o, true);
  }
  if (started) {
    objects_.emplace(id, std::move(o));
    return;
  }
  why = {failure_kind::user, "muster::no_thread",
         "the worker could not start a thread for the object"};
  report_built(id, &why);
}

void hosted_objects::take_calls(v1::ObjectOrders& m) {
  int const n = std::min({m.object_size(), m.caller_size(), m.of_worker_size(), m.number_size(),
                          m.method_size(), m.args_size()});
  bool again = false;
  {
    std::lock_guard held(mutex_);
    for (int i = 0; i < n; ++i) {
      auto const it = objects_.find(m.object(i));
      if (it == objects_.end()) continue;
      auto const& o = it->second;
      detail::call_name const name{m.caller(i), m.of_worker(i), m.number(i)};
      if (!is_new(*o, name)) {
        auto const had = kept_.find({o->id, name});
        if (had == kept_.end()) continue;  // the call is executing, or its answer is queued
        out_.push_back(had->second.of);
        kept_.erase(had);
        again = true;
        continue;
      }
      o->orders.push_back({name,
                           std::move(*m.mutable_method(i)),
                           {std::move(*m.mutable_args(i)), encoding_at(m.encoding(), i)}});
      // If no thread can be started, the existing threads execute the call.
      if (o->orders.size() > o->idle && o->threads < o->build.concurrency()) start_thread(o, false);
      o->wake.notify_one();
    }
  }
  if (again) wake_stream();
}

bool hosted_objects::is_new(hosted& o, detail::call_name const& name) {
  auto& [number, when] = o.last[{name.caller, name.of_worker}];
  if (name.number <= number) return false;
  number = name.number;
  when = ++o.clock;
  if (o.last.size() > callers_max)
    o.last.erase(std::min_element(o.last.begin(), o.last.end(), [](auto const& a, auto const& b) {
      return a.second.second < b.second.second;
    }));
  return true;
}

void hosted_objects::drop(std::uint64_t id) {
  auto const taken = objects_.extract(id);
  std::lock_guard held(mutex_);
  failed_.erase(id);
  if (!taken) return;
  auto& o = *taken.mapped();
  o.gone = true;
  o.orders.clear();
  o.stop.request_stop();
  o.wake.notify_all();
  std::erase_if(kept_by_number_, [id](auto const& k) { return k.second.first == id; });
  std::erase_if(kept_, [id](auto const& k) { return k.first.first == id; });
}

bool hosted_objects::start_thread(std::shared_ptr<hosted> const& o, bool makes) {
  try {
    threads_.emplace_front();
    auto const at = threads_.begin();
    *at = std::thread([this, o, makes, at] {
      run(o, makes);
      std::lock_guard held(mutex_);
      finished_threads_.splice(finished_threads_.end(), threads_, at);
      none_left_.notify_all();
    });
  } catch (std::system_error const&) {
    threads_.pop_front();
    return false;
  }
  ++o->threads;
  return true;
}

void hosted_objects::join_over() {
  std::list<std::thread> over;
  {
    std::lock_guard held(mutex_);
    over.swap(finished_threads_);
  }
  for (auto& t : over) t.join();  // each thread is about to return
}

void hosted_objects::end() {
  calls_->end("the worker has left");
  std::unique_lock held(mutex_);
  for (auto const& [id, o] : objects_) {
    o->gone = true;
    o->stop.request_stop();
    o->wake.notify_all();
  }
  // There is no deadline, because worker::run() returns only after every function and method has
  // returned.
  none_left_.wait(held, [this] { return threads_.empty(); });
  held.unlock();
  join_over();
  objects_.clear();
}

void hosted_objects::run(std::shared_ptr<hosted> const& o, bool makes) {
  if (makes && !make(*o)) return;
  std::unique_lock held(mutex_);
  for (;;) {
    ++o->idle;
    // Waits without a deadline for construction, calls, or drop().
    o->wake.wait(held, [&] { return o->gone || (o->made && !o->orders.empty()); });
    --o->idle;
    if (o->gone) {
      // Destroyed without the lock, because this runs the user's destructor.
      auto const last = --o->threads == 0 ? std::move(o->instance) : nullptr;
      held.unlock();
      return;
    }
    auto const next = std::move(o->orders.front());
    o->orders.pop_front();
    held.unlock();
    auto answered = std::make_shared<answer const>(call(*o, next));
    put(std::move(answered));
    held.lock();
  }
}

bool hosted_objects::make(hosted& o) {
  std::shared_ptr<worker_identity const> me;
  {
    std::lock_guard held(mutex_);
    me = me_;
  }
  context c(*me, 0, 0, o.stop.get_token());
  failure why;
  bool ok = true;
  try {
    detail::object_caller_scope const here(calls_, nullptr);
    auto const e = o.build.encoding() == v1::BYTES ? encoding::bytes : encoding::json;
    o.instance = o.of->make(c, {o.build.args(), e});
  } catch (...) {
    why = failure_of_current_exception();
    ok = false;
  }
  o.build.clear_args();
  {
    std::lock_guard held(mutex_);
    o.made = ok;
    if (!ok) {
      o.gone = true;  // ends the object's other threads
      o.orders.clear();
    }
    o.wake.notify_all();
  }
  report_built(o.id, ok ? nullptr : &why);
  return ok;
}

hosted_objects::answer hosted_objects::call(hosted& o, order const& next) {
  answer a{o.id, next.name, false, {}, {}};
  auto const found = o.of->methods.find(next.method);
  if (found == o.of->methods.end()) {
    a.why = {failure_kind::input, "muster::no_method",
             "'" + o.of->name + "' has no method '" + next.method +
                 "'; its methods are: " + names_of(o.of->methods)};
    return a;
  }
  if (o.of->takes_arrays != (next.args.encoding == encoding::bytes)) {
    a.why = {failure_kind::input, "muster::argument_error",
             o.of->takes_arrays
                 ? "a variable accepts arrays, not JSON; call it through a muster::variable"
                 : "C++ objects accept only JSON arguments, not pickled arguments from Python"};
    return a;
  }
  std::shared_ptr<worker_identity const> me;
  {
    std::lock_guard held(mutex_);
    me = me_;
  }
  context c(*me, 0, 0, o.stop.get_token());
  detail::object_caller_scope const here(calls_, &next.name);
  registered_function const method{next.method,
                                   [&o, &found](context& at, value_view args, value& result) {
                                     found->second(o.instance.get(), at, args, result);
                                   }};
  a.ok = call_function(method, c, {next.args.bytes, next.args.encoding}, a.result, a.why);
  if (!a.ok) a.result = {};
  return a;
}

}  // namespace muster
