// The engine's half: what the link asks for, and handlers. The users' half is in session.cpp.
#include "client/session/stream_session.hpp"

#include "base/check.hpp"
#include "client/session/columns.hpp"
#include "proto/byte_buffer.hpp"

namespace muster {

session::stream::next session::stream::next_message(grpc::ByteBuffer& to) {
  if (asks_first_ && !opened()) {
    if (std::exchange(asked_, true)) {
      lock held(mutex_);
      signalled_ = false;
      return next::nothing;
    }
    check(proto::encode(open_, to), "a message is within its limits");
    return next::message;
  }
  auto const what = client_session::next_message(to);
  if (what == next::message) {
    lock held(mutex_);
    ++stats_.messages_sent;
  } else {
    changed_.notify_all();  // flushed
  }
  return what;
}

std::string session::stream::take(v1::SessionResponse const& m) {
  if (auto wrong = detail::wrong_columns(m, false); !wrong.empty()) return wrong;
  if (m.has_opened()) {
    lock held(mutex_);
    take_opened(m.opened());
    if (asks_first_) wake();  // closures wait
    changed(held);
  }
  try {
    take_outcomes(m);
  } catch (std::exception const& e) {
    return std::string("an outcome handler threw: ") + e.what();
  }
  return {};
}

void session::stream::take_outcomes(v1::SessionResponse const& m) {
  detail::for_each_outcome(m, [&](int i, value_view value, v1::Failure const* why) {
    if (why) failure_ = from_wire(*why);
    deliver({m.token(i), value, why ? &failure_ : nullptr});
  });
  lock held(mutex_);
  ++stats_.messages_received;
  stats_.finished += static_cast<std::uint64_t>(m.token_size());
  stats_.failed += static_cast<std::uint64_t>(m.failure_size());
  if (stats_.finished == stats_.scheduled) changed_.notify_all();
}

void session::stream::deliver(outcome const& o) {
  if ((o.token & handler_bit) == 0) {
    if (on_outcome_) on_outcome_(o);
    return;
  }
  auto const index = static_cast<std::uint32_t>(o.token & ~handler_bit);
  outcome_handler done;
  {
    lock held(mutex_);
    if (index >= handlers_.size() || !handlers_[index]) return;
    done = std::exchange(handlers_[index], {});
    free_handlers_.push_back(index);
  }
  done(o);
}

void session::stream::ended(std::string const& reason) {
  std::vector<outcome_handler> left;
  {
    lock held(mutex_);
    ending_ = true;
    reason_ = reason;
    left.swap(handlers_);
    free_handlers_.clear();
  }
  failure_ = {failure_kind::dependency_lost, "muster::session_error",
              "the session has ended: " + reason};
  for (auto const& done : left)
    if (done) done({handler_bit, {}, &failure_});
  lock held(mutex_);
  ended_ = true;
  link_.reset();
  changed(held);
}

}  // namespace muster
