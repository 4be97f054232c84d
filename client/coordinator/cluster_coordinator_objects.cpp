#include <stdexcept>

#include "base/check.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "client/coordinator/coordinator_session.hpp"
#include "client/coordinator/explain_call.hpp"
#include "client/link/client_engine.hpp"
#include "client/session/session_link.hpp"
#include "proto/byte_buffer.hpp"

namespace muster {
namespace detail {

// The callbacks use weak references, because a handle can be the last owner of the session.
void coordinator_session::begin_objects(std::weak_ptr<client_engine> engine) {
  std::weak_ptr<client_session> const weak = weak_from_this();
  auto const wake = [weak] {
    auto const kept = weak.lock();
    if (!kept) return;
    auto& self = static_cast<coordinator_session&>(*kept);
    lock held(self.mutex_);
    self.wake();
  };
  std::weak_ptr<object_calls> const calls = objects_;
  auto const later = [engine = std::move(engine), calls](milliseconds pause) {
    call_later(engine, pause, [calls] {
      if (auto const there = calls.lock()) there->repeat();
    });
  };
  auto const erased = [weak](std::uint64_t id) {
    if (auto const kept = weak.lock()) static_cast<coordinator_session&>(*kept).known_.forget(id);
  };
  // Reports each lost task once per stream, as the server does for tasks that it knows.
  auto const lost = [weak](std::string const& task, failure const& why) {
    auto const kept = weak.lock();
    if (!kept) return;
    auto& self = static_cast<coordinator_session&>(*kept);
    lock held(self.mutex_);
    if (self.tasks_reported_lost_.insert(task).second)
      self.pending_error_ = std::make_exception_ptr(unavailable_error(failure(why)));
  };
  objects_->explain_with(
      [weak](std::uint64_t object, milliseconds waited) {
        return explanation(weak.lock(), object, waited);
      },
      [weak](std::uint64_t object, milliseconds waited) {
        return async_explanation(weak.lock(), object, waited);
      });
  objects_->begin(wake, later, erased, lost);
}

void coordinator_session::begin_objects_on_stream(v1::Opened const& o) {
  if (!o.objects())
    return objects_->end("the server does not support objects on tasks; upgrade it");
  objects_->again();
  lock held(mutex_);
  takes_objects_ = true;
}

bool coordinator_session::objects_message(grpc::ByteBuffer& to) {
  v1::SessionRequest m;
  {
    lock held(mutex_);  // close() also fills messages; the lock keeps requests in order
    if (!takes_objects_ || closing_) return false;
    if (!objects_->fill(*m.mutable_objects())) return false;
  }
  check(proto::encode(m, to), "a message must not exceed its limits");
  return true;
}

client_session::next coordinator_session::next_message(grpc::ByteBuffer& to) {
  if (std::exchange(objects_turn_, false) && objects_message(to)) return next::message;
  auto const other = client_session::next_message(to);
  objects_turn_ = true;
  // Checks again. A request did not wake the link if it was made just before the base class
  // recorded that no message is waiting.
  if (other != next::message && objects_message(to)) return next::message;
  return other;
}

void set_task(std::string const& field, std::string const& task, v1::NewObject& to) {
  auto const colon = task.rfind(':');
  auto const index = colon == task.npos
                         ? std::optional<std::int64_t>()
                         : parse_task_index(std::string_view(task).substr(colon + 1));
  if (colon == 0 || !index || *index > 0xffff'ffff)
    throw std::invalid_argument(field + ": '" + task +
                                "', must be a job and an index, such as ps:0");
  to.set_job(to_utf8(task.substr(0, colon)));
  to.set_index(static_cast<std::uint32_t>(*index));
}

}  // namespace detail

remote_object cluster_coordinator::make_object(object_options const& o, detail::request r) {
  refuse_to_wait_for_itself();
  v1::NewObject what;
  if (!o.task.empty()) detail::set_task("object_options.task", o.task, what);
  what.set_name(to_utf8(o.name));
  what.set_class_name(to_utf8(r.function));
  what.set_detached(o.detached);
  what.set_concurrency(o.concurrency);
  what.set_function(to_utf8(r.function));
  what.set_args(detail::plain_arguments(std::move(r)));
  what.set_encoding(v1::JSON);
  if (o.saved && o.name.empty())
    throw std::invalid_argument(
        "object_options.saved: an object that is saved in checkpoints needs a name");
  auto made = session_->objects_->create(std::move(what));
  if (o.saved) session_->known_.add(made, o.name);
  return made;
}

remote_object cluster_coordinator::get_object(std::string const& name) {
  refuse_to_wait_for_itself();
  return session_->objects_->find(to_utf8(name));
}

void cluster_coordinator::refuse_to_wait_for_itself() const {
  if (engine_->context().running_in_this_thread())
    throw std::logic_error(
        "a callback cannot wait, because its thread receives the answers; wait on another thread");
}

}  // namespace muster
