// The users' half: any thread, under the mutex.
#include "base/check.hpp"
#include "base/utf8.hpp"
#include "client/session/session_stream.hpp"
#include "proto/columns.hpp"

namespace muster {
namespace {

constexpr std::uint64_t handler_bit = std::uint64_t{1} << 63;
constexpr std::size_t args_bytes_max = std::size_t{48} << 20;

}  // namespace

session::stream::stream(client_engine& engine, session_options options, outcome_handler on_outcome)
    : options_(std::move(options)),
      on_outcome_(std::move(on_outcome)),
      engine_(engine),
      call_(engine_.context()),
      pending_(engine_.context()),
      deadline_(engine_.context()) {
  auto& open = *out_.tail().mutable_open();
  open.set_cluster(to_utf8(options_.cluster));
  open.set_name(to_utf8(options_.name));
  open.set_continue_on_error(options_.continue_on_error);
  open.set_queue_capacity(options_.queue_capacity);
  open.set_max_worker_failures(options_.max_worker_failures);
  open.set_unlimited_worker_failures(options_.unlimited_worker_failures);
}

session::stream::~stream() = default;

void session::stream::throw_if_ended() const {
  if (ending_ || closing_) throw session_error(ending_ ? reason_ : "the session is being closed");
}

bool session::stream::full() const {
  return out_.entries() >= options_.pending_max || out_.bytes() >= options_.pending_bytes_max;
}

void session::stream::signal(lock& held) {
  if (std::exchange(signalled_, true)) return;
  held.unlock();
  if (on_stream_thread())
    pending_.set();
  else
    engine_.context().post([self = shared_from_this()] { self->pending_.set(); });
}

function_number session::stream::function(std::string_view name) {
  if (name.empty() || name.size() > 256 || !is_utf8(name))
    throw std::invalid_argument("a function's name has 1 to 256 bytes of UTF-8");
  lock held(mutex_);
  auto const number = static_cast<std::uint32_t>(functions_.size());
  auto const [it, added] = functions_.try_emplace(std::string(name), number);
  if (added) out_.tail().add_function_name(it->first);
  return function_number{it->second};
}

void session::stream::admit(lock& held, value_view args, when_full when, bool& refused) {
  if (args.bytes.size() > args_bytes_max)
    throw std::invalid_argument("arguments of " + std::to_string(args.bytes.size()) +
                                " bytes, the limit is " + std::to_string(args_bytes_max));
  throw_if_ended();
  refused = when == when_full::refuse && full();
  if (refused || !full() || on_stream_thread()) return;
  // No deadline: this is the server's back-pressure, and it ends with the session at the latest.
  changed_.wait(held, [this] { return ending_ || closing_ || !full(); });
  throw_if_ended();
}

void session::stream::append(std::uint32_t f, value_view args, std::uint64_t token) {
  auto& m = out_.add_entry(args.bytes.size() + 16);
  int const position = m.token_size();
  m.add_token(token);
  m.add_function(f);
  m.add_args(args.bytes.data(), args.bytes.size());
  proto::add_encoding(*m.mutable_encoding(), position, args.encoding == encoding::bytes);
  ++stats_.scheduled;
}

bool session::stream::schedule(function_number f, value_view args, std::uint64_t first,
                               std::size_t count, when_full when) {
  if (first >= handler_bit || count >= handler_bit - first)
    throw std::invalid_argument("a token is below 2^63");
  lock held(mutex_);
  while (count > 0) {
    bool refused = false;
    admit(held, args, when, refused);
    if (refused) return false;
    do append(static_cast<std::uint32_t>(f), args, first++);
    while (--count > 0 && (!full() || on_stream_thread()));
    signal(held);
    if (!held.owns_lock() && count > 0) held.lock();
  }
  return true;
}

void session::stream::schedule(function_number f, value_view args, outcome_handler done) {
  lock held(mutex_);
  bool refused = false;
  admit(held, args, when_full::wait, refused);
  std::uint32_t index = 0;
  if (free_handlers_.empty()) {
    index = static_cast<std::uint32_t>(handlers_.size());
    handlers_.push_back(std::move(done));
  } else {
    index = free_handlers_.back();
    free_handlers_.pop_back();
    handlers_[index] = std::move(done);
  }
  append(static_cast<std::uint32_t>(f), args, handler_bit | index);
  signal(held);
}

void session::stream::wait_open() {
  check(!on_stream_thread(), "the stream thread does not wait for itself");
  lock held(mutex_);
  changed_.wait(held, [this] { return ended_ || !id_.empty(); });  // connect_timeout ends it
  if (id_.empty()) throw session_error(reason_);
}

std::string session::stream::id() const {
  lock held(mutex_);
  return id_;
}

bool session::stream::flush(milliseconds timeout) {
  check(!on_stream_thread(), "the stream thread does not wait for itself");
  lock held(mutex_);
  if (!out_.empty()) signal(held);  // function names alone do not
  if (!held.owns_lock()) held.lock();
  auto const flushed = [this] { return out_.empty() && !writing_; };
  return changed_.wait_for(held, timeout, [&] { return ended_ || flushed(); }) && flushed() &&
         !ended_;
}

bool session::stream::wait_all(milliseconds timeout) {
  check(!on_stream_thread(), "the stream thread does not wait for itself");
  lock held(mutex_);
  auto const all = [this] { return stats_.finished == stats_.scheduled; };
  return changed_.wait_for(held, timeout, [&] { return ended_ || all(); }) && all();
}

void session::stream::cancel() {
  lock held(mutex_);
  if (ending_ || closing_) return;
  out_.tail().set_cancel(true);
  out_.seal();
  signal(held);
}

std::string session::stream::close(milliseconds timeout) {
  check(!on_stream_thread(), "the stream thread does not wait for itself");
  lock held(mutex_);
  if (!std::exchange(closing_, true)) {
    changed_.notify_all();
    signalled_ = false;
    signal(held);
    if (!held.owns_lock()) held.lock();
  }
  if (changed_.wait_for(held, timeout, [this] { return ended_; })) return reason_;
  held.unlock();
  abandon();
  return "the session did not end within " + std::to_string(timeout.count()) + " ms";
}

void session::stream::abandon() {
  check(!on_stream_thread(), "the stream thread does not wait for itself");
  engine_.context().post([self = shared_from_this()] { self->call_.cancel(); });
  lock held(mutex_);
  changed_.wait(held, [this] { return ended_; });  // a cancelled call ends at once
}

session_stats session::stream::stats() const {
  lock held(mutex_);
  return stats_;
}

}  // namespace muster
