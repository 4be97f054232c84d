#include "client/session/client_session.hpp"

#include "base/check.hpp"
#include "client/session/session_link.hpp"
#include "proto/byte_buffer.hpp"

namespace muster::detail {

void client_session::start(client_engine& engine) {
  link_ = std::make_shared<session_link>(engine, shared_from_this());
  link_->start();
}

void client_session::wait_open() {
  lock held(mutex_);
  changed_.wait(held, [this] { return ended_ || !id_.empty(); });
  if (id_.empty()) throw_if_over();
}

std::string client_session::id() const {
  lock held(mutex_);
  return id_;
}

void client_session::wait_ended() {
  lock held(mutex_);
  changed_.wait(held, [this] { return ended_; });
}

client_session::standing client_session::now() const {
  lock held(mutex_);
  return {!id_.empty(), closing_, grace_};
}

client_session::next client_session::next_message(grpc::ByteBuffer& to) {
  lock held(mutex_);
  writing_ = !out_.empty();
  if (!writing_) {
    signalled_ = false;
    return half_close_ ? next::half_close : next::nothing;
  }
  bool const was_full = full();
  auto oldest = out_.take_front();
  if (was_full)
    changed(held);
  else
    held.unlock();
  check(proto::encode(oldest->message, to), "a message must not exceed its limits");
  held.lock();
  out_.recycle(std::move(oldest));
  return next::message;
}

bool client_session::full() const {
  return out_.entries() >= settings_.pending_max || out_.bytes() >= settings_.pending_bytes_max;
}

std::uint32_t client_session::number_of(std::string_view function) {
  auto const number = static_cast<std::uint32_t>(functions_.size());
  auto const [it, added] = functions_.try_emplace(std::string(function), number);
  if (added) {
    names_.push_back(it->first);
    if (streaming_) out_.tail().add_function_name(it->first);
  }
  return it->second;
}

void client_session::append_cancel() {
  out_.tail().set_cancel(true);
  out_.seal();
}

void client_session::take_opened(v1::Opened const& o) {
  id_ = o.session();
  grace_ = milliseconds(o.session_grace_ms());
}

void client_session::wake() {
  if (link_ && !std::exchange(signalled_, true)) link_->wake();
}

void client_session::changed(lock& held) {
  auto const resumed = std::exchange(ready_, {});
  auto const look_again = std::exchange(waiting_, {});
  held.unlock();
  changed_.notify_all();
  for (auto const& w : resumed) w->resume(true);
  for (auto const& w : look_again) w->resume(true);
}

}  // namespace muster::detail
