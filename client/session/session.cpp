// A client_session with a single stream, whose outcomes are passed to handlers immediately. Stores
// only the handler of each call. Handlers run on the engine thread, without the mutex.
#include "muster/session.hpp"

#include <map>
#include <tuple>

#include "base/check.hpp"
#include "client/link/server_list.hpp"
#include "client/session/session_columns.hpp"
#include "client/session/session_link.hpp"
#include "proto/byte_buffer.hpp"

namespace muster {

class session::stream final : public detail::client_session {
 public:
  stream(client_engine& engine, session_options const& options, outcome_handler on_outcome)
      : client_session(options, false),
        on_outcome_(std::move(on_outcome)),
        engine_(engine),
        waits_for_open_(is_list(options.server)) {
    auto& first = waits_for_open_ ? open_ : out_.tail();
    fill_open(*first.mutable_open(), options);
    streaming_ = true;  // scheduled calls can wait for the only stream
  }

 private:
  friend class session;  // uses these members on any thread, under the mutex

  // The link calls the following members on the engine thread.
  void connected() override { open_sent_ = false; }
  next next_message(grpc::ByteBuffer& to) override {
    if (waits_for_open_ && !now().opened) {
      if (std::exchange(open_sent_, true)) {
        lock held(mutex_);
        signalled_ = false;
        return next::nothing;
      }
      check(proto::encode(open_, to), "a message must not exceed its limits");
      return next::message;
    }
    auto const what = client_session::next_message(to);
    if (what == next::message) {
      lock held(mutex_);
      ++stats_.messages_sent;
    } else {
      changed_.notify_all();  // wakes flush()
    }
    return what;
  }

  std::string take(v1::SessionResponse const& m) override {
    if (auto wrong = detail::wrong_columns(m, false); !wrong.empty()) return wrong;
    if (m.has_opened()) {
      lock held(mutex_);
      take_opened(m.opened());
      if (waits_for_open_) wake();  // calls may be waiting for the session to open
      changed(held);
    }
    try {
      take_outcomes(m);
    } catch (std::exception const& e) {
      return std::string("an outcome handler threw: ") + e.what();
    }
    return {};
  }

  void take_outcomes(v1::SessionResponse const& m) {
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

  void deliver(outcome const& o) {
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

  void ended(std::string const& reason) override {
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

  // Requires the mutex.
  void throw_if_over() const override {
    if (ending_ || closing_) throw session_error(ending_ ? reason_ : "the session is being closed");
  }

  enum class when_full { wait, refuse };
  /// Returns false if there is no room and the caller does not want to wait.
  bool admit(lock& held, value_view args, when_full when) {
    check_argument_bytes(args.bytes.size());
    throw_if_over();
    if (!full()) return true;
    if (when == when_full::refuse) return false;
    if (on_stream_thread()) return true;
    // There is no deadline, because the wait is the server's back-pressure. The end of the session
    // ends the wait.
    changed_.wait(held, [this] { return ending_ || closing_ || !full(); });
    throw_if_over();
    return true;
  }

  void append(std::uint32_t f, value_view args, std::uint64_t token) {
    ++stats_.scheduled;
    if ((f & called_bit) != 0) [[unlikely]] {
      auto const& what = display_names_.at(f & ~called_bit);
      auto& m = out_.add_entry(args.bytes.size() + 16 + what.name.size());
      auto const position = detail::add_closure(m, token, what.function, args);
      return detail::add_callable(m, position, what.name, what.hash);
    }
    auto& m = out_.add_entry(args.bytes.size() + 16);
    detail::add_closure(m, token, f, args);
    if (m.callable_of_size() > 0) [[unlikely]]
      m.add_callable_of(0);
  }

  std::uint32_t number_of_called(std::uint32_t function, std::string_view display_name,
                                 std::string hash) {
    auto const [at, added] =
        called_numbers_.try_emplace({function, std::string(display_name), hash},
                                    static_cast<std::uint32_t>(display_names_.size()));
    if (added && display_names_.size() >= called_max) {
      called_numbers_.erase(at);
      throw std::invalid_argument(
          "display_name: the number of names in a session must be at most " +
          std::to_string(called_max));
    }
    if (added) display_names_.push_back({function, std::string(display_name), std::move(hash)});
    return called_bit | at->second;
  }

  /// Marks function numbers that are indices into display_names_.
  static constexpr std::uint32_t called_bit = std::uint32_t{1} << 31;
  static constexpr std::size_t called_max = 65'536;
  struct called {
    std::uint32_t function = 0;
    std::string name, hash;
  };

  /// Marks tokens of calls that have their own handler.
  static constexpr std::uint64_t handler_bit = std::uint64_t{1} << 63;

  bool on_stream_thread() const { return engine_.context().running_in_this_thread(); }
  /// Aborts the process if a blocking member is called on the stream thread.
  void check_may_wait() const {
    check(
        !on_stream_thread(),
        "a callback cannot wait, because its thread receives the answers; wait on another thread");
  }
  /// Cancels the gRPC call and waits until it has ended.
  void abandon() {
    check_may_wait();
    {
      lock held(mutex_);
      if (link_) link_->cancel();
    }
    wait_ended();  // a cancelled call ends immediately
  }

  // Locks the mutex.
  bool schedule(function_number f, value_view args, std::uint64_t first, std::size_t count,
                when_full when) {
    if (first >= handler_bit || count >= handler_bit - first)
      throw std::invalid_argument("a token must be less than 2^63");
    lock held(mutex_);
    while (count > 0) {
      if (!admit(held, args, when)) return false;
      do append(static_cast<std::uint32_t>(f), args, first++);
      while (--count > 0 && (!full() || on_stream_thread()));
      wake();
    }
    return true;
  }

  outcome_handler const on_outcome_;
  client_engine& engine_;  // the session object keeps the engine alive
  failure failure_;        // failure that is being delivered; used only on the engine thread
  /// Whether calls wait until a server has opened the session. Needed for a list of servers,
  /// because an inactive server does not accept calls.
  bool const waits_for_open_;
  v1::SessionRequest open_;  // first request on each server's stream
  bool open_sent_ = false;  // whether open_ was sent on this stream; used only on the engine thread

  // The mutex protects the following members. Handlers on the stream thread can exceed the limits
  // of out_ by about one entry per outcome.
  bool ending_ =
      false;  // whether calls are rejected; the session ends after every handler has been called
  /// Handlers of calls in flight, indexed by the low bits of the token.
  std::vector<outcome_handler> handlers_;
  std::vector<std::uint32_t> free_handlers_;
  std::vector<called> display_names_;  // at most called_max
  std::map<std::tuple<std::uint32_t, std::string, std::string>, std::uint32_t> called_numbers_;
  session_stats stats_;
};

session::session(session_options options, outcome_handler on_outcome)
    : engine_(client_engine::shared()),
      stream_(std::make_shared<stream>(*engine_, options, std::move(on_outcome))) {
  stream_->start(*engine_);
}

session::~session() {
  stream_->abandon();
}

void session::wait_open() {
  stream_->check_may_wait();
  stream_->wait_open();
}

std::string session::id() const {
  return stream_->id();
}

function_number session::function(std::string_view name) {
  return function(name, {});
}

function_number session::function(std::string_view name, std::string_view display_name,
                                  std::string_view callable) {
  check_function_name(name);
  check_callable(display_name, callable);
  std::lock_guard held(stream_->mutex_);
  auto const number = stream_->number_of(name);
  if (display_name.empty()) return function_number{number};
  return function_number{stream_->number_of_called(number, display_name, hash_bytes(callable))};
}

void session::schedule(function_number f, value_view args, std::uint64_t token) {
  stream_->schedule(f, args, token, 1, stream::when_full::wait);
}

bool session::try_schedule(function_number f, value_view args, std::uint64_t token) {
  return stream_->schedule(f, args, token, 1, stream::when_full::refuse);
}

void session::schedule_many(function_number f, value_view args, std::uint64_t first_token,
                            std::size_t count) {
  stream_->schedule(f, args, first_token, count, stream::when_full::wait);
}

void session::schedule(function_number f, value_view args, outcome_handler done) {
  auto& s = *stream_;
  stream::lock held(s.mutex_);
  s.admit(held, args, stream::when_full::wait);
  auto index = static_cast<std::uint32_t>(s.handlers_.size());
  if (s.free_handlers_.empty()) {
    s.handlers_.push_back(std::move(done));
  } else {
    index = s.free_handlers_.back();
    s.free_handlers_.pop_back();
    s.handlers_[index] = std::move(done);
  }
  s.append(static_cast<std::uint32_t>(f), args, stream::handler_bit | index);
  s.wake();
}

bool session::flush(std::chrono::milliseconds timeout) {
  auto& s = *stream_;
  s.check_may_wait();
  stream::lock held(s.mutex_);
  if (!s.out_.empty()) s.wake();  // function names alone do not wake the link
  auto const flushed = [&s] { return s.out_.empty() && !s.writing_; };
  s.changed_.wait_for(held, timeout, [&] { return s.ended_ || flushed(); });
  return flushed() && !s.ended_;
}

bool session::wait_all(std::chrono::milliseconds timeout) {
  auto& s = *stream_;
  s.check_may_wait();
  stream::lock held(s.mutex_);
  auto const all = [&s] { return s.stats_.finished == s.stats_.scheduled; };
  s.changed_.wait_for(held, timeout, [&] { return s.ended_ || all(); });
  return all();
}

void session::cancel() {
  auto& s = *stream_;
  std::lock_guard held(s.mutex_);
  if (s.ending_ || s.closing_) return;
  s.append_cancel();
  s.wake();
}

std::string session::close(std::chrono::milliseconds timeout) {
  auto& s = *stream_;
  s.check_may_wait();
  {
    stream::lock held(s.mutex_);
    if (!std::exchange(s.closing_, true)) {
      s.half_close_ = true;
      s.changed_.notify_all();
      s.wake();
    }
    if (s.changed_.wait_for(held, timeout, [&s] { return s.ended_; })) return s.reason_;
  }
  s.abandon();
  return "the session did not end within " + in_ms(timeout);
}

session_stats session::stats() const {
  std::lock_guard held(stream_->mutex_);
  return stream_->stats_;
}

}  // namespace muster
