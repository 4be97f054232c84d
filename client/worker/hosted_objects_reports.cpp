#include <iterator>
#include <utility>

#include "client/wire.hpp"
#include "client/worker/hosted_objects.hpp"

namespace muster {

void hosted_objects::report_built(std::uint64_t id, failure const* why) {
  {
    std::lock_guard held(mutex_);
    if (why) {
      failed_[id] = *why;  // IDs increase, so the first is the oldest
      // Never evicts an unreported failure, because its object would be reported as built.
      for (auto it = failed_.begin(); failed_.size() > failed_max && it != failed_.end();)
        it = built_.contains(it->first) || it->first == id ? std::next(it) : failed_.erase(it);
    }
    if (!why || failed_.contains(id)) built_.insert(id);
  }
  wake_stream();
}

void hosted_objects::put(std::shared_ptr<answer const> a) {
  {
    std::lock_guard held(mutex_);
    out_.push_back(std::move(a));
  }
  wake_stream();
}

void hosted_objects::wake_stream() {
  {
    std::lock_guard held(mutex_);
    if (std::exchange(stream_woken_, true)) return;
  }
  wake_();
}

bool hosted_objects::reports() {
  std::unique_lock held(mutex_);
  if (!out_.empty() || !built_.empty()) return true;
  stream_woken_ = false;  // the report for which it was woken has been sent
  held.unlock();
  return calls_->has_more();
}

void hosted_objects::report(v1::WorkerMessage& to) {
  // Follows a message full of answers, so that answers do not starve calls.
  if (std::exchange(send_calls_next_, false) && calls_->has_more()) return ask(to);
  std::unique_lock held(mutex_);
  for (auto const id : std::exchange(built_, {})) {
    auto const failed = failed_.find(id);
    if (failed == failed_.end()) {
      to.mutable_objects()->add_built(id);
      continue;
    }
    objects_.erase(id);  // the server does not mention the object again
    auto& f = *to.mutable_objects()->add_failed();
    f.set_object(id);
    to_wire(failed->second, *f.mutable_failure());
  }
  std::size_t rows = 0, bytes = 0;
  if (!out_.empty()) to.mutable_objects()->set_first(sent_ + 1);
  while (!out_.empty() && rows < answers_per_message_max) {
    auto const& a = *out_.front();
    bytes += a.size();
    if (rows > 0 && bytes > bytes_per_message_max) break;
    auto& m = *to.mutable_objects();
    m.add_object(a.object);
    m.add_caller(a.name.caller);
    m.add_of_worker(a.name.of_worker);
    m.add_number(a.name.number);
    m.add_value(a.result.bytes);
    m.add_encoding(a.result.encoding == encoding::bytes ? v1::BYTES : v1::JSON);
    if (!a.ok) {
      auto& f = *m.add_failure();
      f.set_position(static_cast<std::uint32_t>(rows));
      to_wire(a.why, f);
    }
    ++rows;
    ++sent_;
    kept_[{a.object, a.name}] = {sent_, out_.front()};
    kept_by_number_[sent_] = {a.object, a.name};
    out_.pop_front();
  }
  if (out_.empty()) stream_woken_ = false;
  held.unlock();
  send_calls_next_ = bytes > bytes_per_message_max;
  if (!send_calls_next_) ask(to);
}

void hosted_objects::ask(v1::WorkerMessage& to) {
  auto& asked = *to.add_object_requests();
  if (!calls_->fill(asked)) to.mutable_object_requests()->RemoveLast();
}

}  // namespace muster
