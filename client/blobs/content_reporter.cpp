#include "client/blobs/content_reporter.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <random>
#include <set>

#include "base/check.hpp"
#include "client/blobs/memory.hpp"
#include "client/log_line.hpp"
#include "proto/byte_buffer.hpp"

namespace muster::detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds hold_pause_min{50}, hold_pause_max{2'000};
// Pause before a server that does not support the call is tried again, because it may have been
// replaced.
constexpr milliseconds ask_again{30'000};
// Pause before rejected values are reported again.
constexpr milliseconds refused_again{1'000};
constexpr int names_in_message = 1'000;

}  // namespace

content_reporter::content_reporter(std::shared_ptr<client_engine> const& engine,
                                   blobs_options const& o, std::string socket_name,
                                   std::string task, peer_value_server* peers, callbacks on)
    : engine_(*engine),
      engine_there_(engine),
      options_(o),
      socket_name_(std::move(socket_name)),
      task_(std::move(task)),
      peers_(peers),
      on_(std::move(on)),
      pause_(engine->context()),
      backoff_(hold_pause_min, hold_pause_max, std::random_device{}()) {}

void content_reporter::start() {
  engine_.context().post(
      [self = shared_from_this()] { self->engine_.tasks().spawn("hold", self->run(self)); });
}

void content_reporter::close() {
  engine_.context().post([self = shared_from_this()] {
    self->closing_ = true;
    if (self->stream_) self->stream_->cancel();
    self->pause_.cancel();
  });
}

void content_reporter::wait_ended() {
  std::unique_lock held(mutex_);
  // There is no deadline, because the stream was cancelled.
  changed_.wait(held, [this] { return ended_; });
}

coro::task<void> content_reporter::run(std::shared_ptr<content_reporter> /*self*/) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  while (!closing_) {
    stream_side& side = *this;
    stream_ = std::make_unique<server_stream>(engine_, options_.server, options_.tls,
                                              options_.token, "/muster.v1.BlobService/Hold", side);
    auto const status = co_await stream_->run();
    stream_.reset();
    lost();
    if (closing_) break;
    bool const unknown = status.error_code() == grpc::StatusCode::UNIMPLEMENTED;
    co_await pause_.wait_for(unknown ? ask_again : backoff_.next());
  }
  // After this, no callback is called.
  std::lock_guard held(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void content_reporter::lost() {
  std::lock_guard held(mutex_);
  streaming_ = outputs_stay_ = false;
  holder_ = 0;
  has_answer_ = true;
  reports_.clear();
  refused_.clear();
  changed_.notify_all();
}

// Queues reports of all values that this process holds, before the reports of values that it drops
// later.
void content_reporter::connected() {
  first_said_ = false;
  {
    std::lock_guard held(mutex_);
    streaming_ = true;
  }
  auto const all = on_.held();
  std::lock_guard held(mutex_);
  std::set<std::string> known;
  for (auto const& n : reports_) known.insert(n.what.name);
  for (auto const& what : all)
    if (!known.contains(what.name)) reports_.push_front({what});
}

content_reporter::next content_reporter::next_message(grpc::ByteBuffer& to) {
  v1::HoldRequest m;
  std::lock_guard held(mutex_);
  if (!std::exchange(first_said_, true)) {
    m.set_unix_socket(socket_name_);
    m.set_task(task_);
    m.set_host(this_host());
    m.set_former(former_);
    if (peers_) m.set_peer(peers_->address());
  } else if (reports_.empty() && taken_ == 0 && copied_ == 0) {
    return next::nothing;
  }
  for (; !reports_.empty() && m.held_size() + m.dropped_size() < names_in_message;
       reports_.pop_front()) {
    auto const& [what, dropped] = reports_.front();
    if (dropped) {
      m.add_dropped(what.name);
    } else if (m.dropped_size() > 0) {
      break;  // a message lists held values before dropped values
    } else {
      m.add_held(what.name);
      m.add_size(what.size);
      m.add_copy(what.copy);
    }
  }
  m.set_shared_bytes(std::exchange(taken_, 0));
  m.set_peer_bytes(std::exchange(copied_, 0));
  check(proto::encode(m, to), "a message must not exceed its limits");
  return next::message;
}

std::string content_reporter::take(grpc::ByteBuffer& message) {
  if (!proto::decode(message, response_))
    return "the server sent a message that could not be decoded";
  if (peers_) process_peer_settings();
  if (response_.holder() != 0) {
    backoff_.reset();
    std::lock_guard held(mutex_);
    holder_ = former_ = response_.holder();
    outputs_stay_ = response_.outputs_stay();
    bytes_max_ = response_.blob_bytes_max();
    has_answer_ = true;
    changed_.notify_all();
  }
  for (auto const& name : response_.unneeded()) on_.on_released(name);
  for (auto const& name : response_.unlisted()) on_.on_unlisted(name);
  for (auto const& name : response_.wanted()) on_.on_upload_requested(name);
  if (response_.refused_size() > 0) {
    std::lock_guard held(mutex_);
    bool const first = refused_.empty();
    refused_.insert(refused_.end(), response_.refused().begin(), response_.refused().end());
    if (first)
      call_later(engine_there_, refused_again, [weak = weak_from_this()] {
        if (auto const self = weak.lock()) self->report_refused_again();
      });
  }
  return {};
}

void content_reporter::process_peer_settings() {
  try {
    if (response_.holder() != 0) peers_->use_certificate(response_.certificate(), response_.key());
  } catch (peer_error const& e) {
    log(log_level::error, std::string("values cannot be sent to other hosts: ") + e.what());
  }
  for (auto const& t : response_.ticket()) peers_->expect(t.ticket(), t.name());
}

void content_reporter::report_refused_again() {
  if (closing_) return;
  auto const all = on_.held();
  {
    std::lock_guard held(mutex_);
    std::set<std::string> const again(refused_.begin(), refused_.end());
    refused_.clear();
    for (auto const& what : all)
      if (again.contains(what.name)) reports_.push_back({what});
  }
  wake();
}

bool content_reporter::ready(milliseconds patience) {
  std::unique_lock held(mutex_);
  changed_.wait_for(held, patience, [this] { return has_answer_; });
  return streaming_ && holder_ != 0 && refused_.empty();
}

bool content_reporter::outputs_stay() const {
  std::lock_guard held(mutex_);
  return outputs_stay_;
}

bool content_reporter::may_hold(std::uint64_t size) const {
  std::lock_guard held(mutex_);
  return bytes_max_ == 0 || size <= bytes_max_;
}

std::uint64_t content_reporter::holder() const {
  std::lock_guard held(mutex_);
  return holder_;
}

void content_reporter::announce(named const& what) {
  say({what});
}

void content_reporter::dropped(std::string const& name) {
  say({{name}, true});
}

void content_reporter::say(news n) {
  {
    std::lock_guard held(mutex_);
    if (!streaming_) return;
    // A value that is dropped before it was reported is never reported. This limits the number of
    // reports.
    auto const of_it = [&n](news const& o) { return o.what.name == n.what.name && !o.dropped; };
    auto const it =
        n.dropped ? std::find_if(reports_.begin(), reports_.end(), of_it) : reports_.end();
    if (it != reports_.end())
      reports_.erase(it);
    else
      reports_.push_back(std::move(n));
  }
  wake();
}

void content_reporter::taken(std::uint64_t size) {
  {
    std::lock_guard held(mutex_);
    taken_ += size;
  }
  wake();
}

void content_reporter::copied(std::uint64_t size) {
  {
    std::lock_guard held(mutex_);
    copied_ += size;
  }
  wake();
}

void content_reporter::wake() {
  engine_.context().post([self = shared_from_this()] {
    if (self->stream_) self->stream_->wake();
  });
}

}  // namespace muster::detail
