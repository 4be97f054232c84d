#include "server/rpc/workers/worker_session.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/check.hpp"
#include "proto/byte_buffer.hpp"
#include "server/rpc/status_convert.hpp"
#include "server/rpc/stream_list.hpp"
#include "server/rpc/workers/worker_convert.hpp"
#include "server/rpc/workers/worker_hello.hpp"
#include "server/rpc/workers/worker_reports.hpp"

namespace muster::server {
namespace {

constexpr std::uint32_t no_number = ~std::uint32_t{0};

muster::status wrong(std::string what) {
  return {muster::code::invalid_argument, std::move(what)};
}

}  // namespace

worker_session::worker_session(server::hub& h, call& c, worker_service_options const& options)
    : hub_(h),
      call_(c),
      options_(options),
      task_(std::make_shared<std::string const>()),
      pending_(c.engine()),
      deadline_(c.engine()) {}

coro::task<void> worker_session::run() {
  using namespace boost::asio::experimental::awaitable_operators;
  deadline_.call_at(coro::timer::clock::now() + options_.hello_timeout, [this] {
    end({grpc::StatusCode::DEADLINE_EXCEEDED,
         "no hello within " + std::to_string(options_.hello_timeout.count()) + " ms"});
  });
  auto reading = read_all();
  auto writing = write_all();
  co_await (std::move(reading) && std::move(writing));
}

// ---- reading ------------------------------------------------------------------------------------

coro::task<void> worker_session::read_all() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  while (!ended_) {
    bool const got = co_await call_.read(read_);
    if (ended_) break;
    if (!got) {
      input_ended();
      break;
    }
    auto const problem = take_read();
    if (problem.ok()) continue;
    leave_hub(false, "protocol error: " + problem.message);
    end(to_grpc(problem));
  }
}

muster::status worker_session::take_read() {
  if (read_.Length() > stream_message_bytes_max) return message_too_long(read_.Length());
  return proto::decode(read_, message_) ? take(message_)
                                        : wrong("the message could not be decoded");
}

muster::status worker_session::take(v1::WorkerMessage const& m) {
  if (!greeted_) {
    if (!m.has_hello()) return wrong("hello: must come first");
    if (auto problem = take_hello(m.hello()); !problem.ok()) return problem;
  } else if (m.has_hello()) {
    return wrong("hello: came a second time");
  }
  // Reports come first: an answer ends the closure that they are of.
  if (attached_)
    if (auto problem = take_reports(m, stream_, task_, hub_); !problem.empty())
      return wrong(problem);
  if (auto problem = take_results(m); !problem.ok()) return problem;
  // Told back: whatever was sent before it had been on its way.
  if (m.drain() && attached_) {
    leave_asked_ = true;
    hub_.apply(core::worker_drain{stream_, true});
  }
  return {};
}

muster::status worker_session::take_hello(v1::Hello const& hello) {
  auto spec = from_wire(hello, hub_.state().configuration());
  if (!spec) return spec.error();
  auto held = held_from_wire(hello);
  if (!held) return held.error();
  auto const [wrong, ids] = hub_.learn(spec->functions);
  if (!wrong.ok())
    return {wrong.code, "hello.function[" + std::to_string(ids.size()) + "]: " + wrong.message};
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    auto const at = core::raw(ids[i]);
    if (at >= numbers_.size()) numbers_.resize(at + 1, no_number);
    numbers_[at] = i;
  }
  greeted_ = true;
  deadline_.cancel();
  attached_ = true;
  stream_ = hub_.attach(*this);
  results_.stream = stream_;
  spdlog::debug("worker says hello peer={} host={} pid={} slots={} credits={} functions={}",
                call_.context().peer(), spec->host, spec->pid, spec->slots, spec->credits,
                spec->functions.size());
  core::worker_attached event{stream_, std::move(*spec), std::move(*held)};
  hub_.apply(event);
  return {};
}

muster::status worker_session::take_results(v1::WorkerMessage const& m) {
  if (!attached_) return {};  // refused a moment ago
  results_.results.clear();
  if (auto problem = from_wire(m, results_.results); !problem.empty()) return wrong(problem);
  if (results_.results.empty()) {
    hub_.apply(core::worker_alive{stream_});
  } else {
    outstanding_ -= std::min(outstanding_, results_.results.size());
    hub_.apply(results_);
  }
  return {};
}

void worker_session::input_ended() {
  if (!greeted_) return end(to_grpc(wrong("hello: the stream ended without it")));
  half_closed_ = true;
  end(grpc::Status::OK);
}

// ---- writing ------------------------------------------------------------------------------------

coro::task<void> worker_session::write_all() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  while (!ended_) {
    if (out_.empty()) {
      co_await pending_.wait();  // no deadline: the core's heartbeat deadline ends silent streams
      continue;
    }
    encode_next();
    bool const sent = co_await call_.write(written_);
    if (!sent && !ended_) {
      connection_lost();
      end(grpc::Status::CANCELLED);
    }
  }
  co_await finish();
}

// Both a half-close and a break end the input. A worker that asked to leave and holds nothing has
// left, whichever it was: it may have gone before its status was on the wire. Of others, a status
// that goes out tells.
coro::task<void> worker_session::finish() {
  bool const sent = co_await call_.finish(status_);
  if (!half_closed_) co_return;
  if ((leave_asked_ && outstanding_ == 0) || (sent && !call_.cancelled()))
    leave_hub(true, "left");
  else
    connection_lost();
}

void worker_session::encode_next() {
  auto next = out_.take_front();
  check(proto::encode(next->message, written_), "a message is within its limits");
  out_.recycle(std::move(next));
}

void worker_session::end(grpc::Status status) {
  if (std::exchange(ended_, true)) return;
  status_ = std::move(status);
  deadline_.call_at(coro::timer::clock::now() + options_.finish_grace, [this] { call_.cancel(); });
  pending_.set();
}

void worker_session::shut_down() {
  if (ended_) return;
  leave_hub(false, "the server is shutting down");
  end({grpc::StatusCode::UNAVAILABLE, "the server is shutting down"});
}

void worker_session::leave_hub(bool clean, std::string reason, bool may_return) {
  if (!std::exchange(attached_, false)) return;
  hub_.detach(stream_);
  spdlog::log(clean ? spdlog::level::info : spdlog::level::warn,
              "worker gone task={} clean={} reason=\"{}\"", *task_, clean, reason);
  hub_.apply(core::worker_detached{stream_, clean, std::move(reason), may_return});
}

void worker_session::connection_lost() {
  // One that asked to leave does not dial again.
  leave_hub(false, "connection lost", !leave_asked_);
}

}  // namespace muster::server
