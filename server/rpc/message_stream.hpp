// Protocol side of a worker or session stream. Decodes the messages that it reads, writes pending
// messages one at a time, and ends once with a status. Steps:
//
//   reading:  first message in time ──► take… ──► half-closed / broken / refused
//   writing:  out_ ──► …                       ──► the status, within finish_grace
//
// This is a base class: the derived class interprets messages and bounds out_. The first call of
// end() sets the status. Created by the call's handler; used only on the engine thread.
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

/// Maximum message size. The gRPC server itself accepts larger messages, for key-values.
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

  /// If take() returns an error, the stream calls refused() and ends with the error.
  virtual muster::status take(In const& message) = 0;
  virtual void refused(muster::status const& why) = 0;
  /// Called when a read failed because the stream is half-closed, cancelled or broken.
  virtual void input_ended() = 0;
  /// While may_read() returns false, the stream is not read. Call room() when the result may have
  /// changed to true.
  virtual bool may_read() { return true; }
  /// If complete() returns true, the stream ends with OK once out_ is written. Called after every
  /// wake().
  virtual bool complete() const { return false; }
  /// Called before the next message is selected, so that data can be added to it.
  virtual void before_write() {}
  /// Called when the client did not accept a message.
  virtual void write_failed() {}
  virtual void ending() {}
  virtual void finished(bool sent) { static_cast<void>(sent); }

  /// Completes when the call is finished. Does not fail. Cancelling with `terminal` cancels the
  /// call.
  /// @param first Describes the required first message; see greeted().
  /// @param patience Time limit for the first message.
  [[nodiscard]] coro::task<void> serve(std::string first, std::chrono::milliseconds patience) {
    using namespace boost::asio::experimental::awaitable_operators;
    deadline_.call_at(coro::timer::clock::now() + patience, [this, first, patience] {
      end({grpc::StatusCode::DEADLINE_EXCEEDED,
           "received no " + first + " within " + std::to_string(patience.count()) + " ms"});
    });
    auto reading = read_all();
    auto writing = write_all();
    co_await (std::move(reading) && std::move(writing));
  }
  void greeted() { deadline_.cancel(); }
  /// Makes the writer check for messages and completion.
  void wake() { pending_.set(); }
  void room() { room_.set(); }
  bool ended() const { return ended_; }
  /// Sets the status that the writer sends. Only the first call has an effect.
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
        co_await room_.wait();  // no deadline, because a full queue can stay full
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
      // Lets other streams write the consequences of the message before this stream reads more.
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
  }

  muster::status take_read() {
    if (read_.Length() > stream_message_bytes_max)
      return {muster::code::resource_exhausted,
              "the message has " + std::to_string(read_.Length()) + " bytes; the limit is " +
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
          // No deadline: the core closes the streams of unresponsive workers, and closures have no
          // time limit.
          co_await pending_.wait();
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

  void encode_next() {
    auto next = out_.take_front();
    check(proto::encode(next->message, written_),
          "an outgoing message must not exceed its size limit");
    out_.recycle(std::move(next));
  }

  std::chrono::milliseconds const finish_grace_;
  coro::event pending_;
  coro::event room_;
  grpc::ByteBuffer written_;
  grpc::ByteBuffer read_;
  In message_;
  bool ended_ = false;
  grpc::Status status_;
  coro::timer deadline_;
};

}  // namespace muster::server
