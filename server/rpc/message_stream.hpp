// The wire side of a worker's or a session's stream: decodes what it reads, writes whatever is
// pending when the write slot is free, and ends once, with one status.
//
//   reading:  first message in time ──► take… ──► half-close / broken / refused
//   writing:  out_ ──► …                       ──► the status, within finish_grace
//
// A base class: what the messages mean, and what is bounded by what in out_, the derived one says.
// Whoever ends the stream first sets the status. Lives in the frame of its call's handler; engine
// thread only.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "coro/event.hpp"
#include "coro/server_bidi.hpp"
#include "coro/timer_queue.hpp"
#include "proto/byte_buffer.hpp"
#include "proto/outbox.hpp"
#include "server/rpc/status_convert.hpp"

namespace muster::server {

/// Longest message a stream takes; the gRPC server itself takes more, for key-values.
inline constexpr std::size_t stream_message_bytes_max = std::size_t{64} << 20;

template <class In, class Out>
class message_stream {
 public:
  using call = coro::server_bidi<grpc::ByteBuffer, grpc::ByteBuffer>;
  message_stream(message_stream const&) = delete;

 protected:
  message_stream(call& c, std::chrono::milliseconds finish_grace)
      : call_(c),
        finish_grace_(finish_grace),
        pending_(c.engine()),
        room_(c.engine()),
        deadline_(c.engine()) {}
  ~message_stream() = default;

  /// One message. An error ends the stream with it, after refused().
  virtual muster::status take(In const& message) = 0;
  virtual void refused(muster::status const& why) = 0;
  /// A read gave nothing: half-closed, cancelled or broken.
  virtual void input_ended() = 0;
  /// False: nothing is read until room() says that this may have changed.
  virtual bool may_read() { return true; }
  /// True: the stream ends with OK once out_ is written. Looked at after every wake().
  virtual bool complete() const { return false; }
  /// Comes before it is looked at what there is to write: for what goes along with the next
  /// message.
  virtual void before_write() {}
  /// The client took no further message.
  virtual void write_failed() {}
  /// The end was set, by whom ever; comes once.
  virtual void ending() {}
  /// The status is on its way (or nobody took it); comes last.
  virtual void finished(bool sent) { static_cast<void>(sent); }

  /// Completion: the call is finished. Errors: none. Cancellation: `terminal` cancels the call.
  /// `first` is what the first message has to bring before `patience` ends; see greeted().
  [[nodiscard]] coro::task<void> serve(std::string first, std::chrono::milliseconds patience) {
    using namespace boost::asio::experimental::awaitable_operators;
    deadline_.call_at(coro::timer::clock::now() + patience, [this, first, patience] {
      end({grpc::StatusCode::DEADLINE_EXCEEDED,
           "no " + first + " within " + std::to_string(patience.count()) + " ms"});
    });
    auto reading = read_all();
    auto writing = write_all();
    co_await (std::move(reading) && std::move(writing));
  }
  void greeted() { deadline_.cancel(); }
  /// There is something to write, or to look at.
  void wake() { pending_.set(); }
  void room() { room_.set(); }
  bool ended() const { return ended_; }
  /// Sets the status that the writer sends. The first one counts.
  void end(grpc::Status status) {
    if (std::exchange(ended_, true)) return;
    status_ = std::move(status);
    ending();
    deadline_.call_at(coro::timer::clock::now() + finish_grace_, [this] { call_.cancel(); });
    pending_.set();
    room_.set();
  }

  call& call_;
  proto::outbox<Out> out_;

 private:
  [[nodiscard]] coro::task<void> read_all() {
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    while (!ended_) {
      if (!may_read()) {
        co_await room_.wait();  // no deadline: being held back is what a full queue means
        continue;
      }
      bool const got = co_await call_.read(read_);
      if (ended_) break;
      if (!got) {
        input_ended();
        break;
      }
      if (auto const problem = take_read(); !problem.ok()) {
        refused(problem);
        end(to_grpc(problem));
        break;
      }
      // What follows from the message is written, on whatever stream, before gRPC is asked for
      // more.
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
  }

  muster::status take_read() {
    if (read_.Length() > stream_message_bytes_max)
      return {muster::code::resource_exhausted,
              "the message has " + std::to_string(read_.Length()) + " bytes, the limit is " +
                  std::to_string(stream_message_bytes_max)};
    return proto::decode(read_, message_) ? take(message_)
                                          : invalid("the message could not be decoded");
  }

  [[nodiscard]] coro::task<void> write_all() {
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    while (!ended_) {
      before_write();
      if (out_.empty()) {
        if (complete())
          end(grpc::Status::OK);
        else
          co_await pending_.wait();  // no deadline: the core ends a silent worker's stream, and
                                     // closures take as long as they take
        continue;
      }
      encode_next();
      bool const sent = co_await call_.write(written_);
      if (!sent && !ended_) {
        write_failed();
        end(grpc::Status::CANCELLED);
      }
      room_.set();
    }
    bool const sent = co_await call_.finish(status_);
    finished(sent);
  }

  // Moves the oldest pending message into written_.
  void encode_next() {
    auto next = out_.take_front();
    check(proto::encode(next->message, written_), "a message is within its limits");
    out_.recycle(std::move(next));
  }

  std::chrono::milliseconds const finish_grace_;
  coro::event pending_;  // there is something to write, or the end has come
  coro::event room_;     // may_read() may have become true, or the end has come
  grpc::ByteBuffer written_;
  grpc::ByteBuffer read_;
  In message_;
  bool ended_ = false;
  grpc::Status status_;
  coro::timer deadline_;  // of the first message, then of the end
};

}  // namespace muster::server
