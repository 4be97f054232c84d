// The open streams of a service, which can be ended together. Owned by the service; used only on
// the engine thread.
#pragma once

#include <spdlog/spdlog.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "coro/accept.hpp"

namespace muster::server {

inline void report_exception(std::string_view name, std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& e) {
    spdlog::error("{} ended by an exception what=\"{}\"", name, e.what());
  }
}

template <class Stream>
class stream_list {
 public:
  /// Beyond `streams_max` concurrent calls, the acceptor refuses calls with RESOURCE_EXHAUSTED.
  stream_list(std::string name, coro::engine_context& engine, std::size_t streams_max)
      : tasks_(engine.get_executor(), streams_max,
               [name = std::move(name)](std::string_view, std::exception_ptr error) {
                 report_exception(name, error);
               }) {}

  /// Serves each call of `method` by a Stream constructed from the call and `args`. REQUIRES: see
  /// coro::accept_bidi; `args` outlive the server.
  template <class Service, class Owner, class Request, class Response, class... Args>
  void accept(coro::grpc_server& server, Service& service,
              coro::bidi_method<Owner, Request, Response> method, coro::accept_options options,
              Args&... args) {
    auto handler = [this, &args...](std::unique_ptr<typename Stream::call> call) {
      return serve(std::move(call), args...);
    };
    coro::accept_bidi(server, service, method, std::move(options), tasks_, handler);
  }

  /// REQUIRES: `f` neither adds nor removes streams.
  template <class F>
  void for_each(F f) {
    for (auto* stream : streams_) f(*stream);
  }

  /// The service may add other tasks.
  coro::task_group& tasks() { return tasks_; }

  /// Shuts down every stream. Completes when all streams have ended. Each stream has its own
  /// deadline.
  [[nodiscard]] coro::task<void> stop() {
    stopping_ = true;
    std::vector<Stream*> const all(streams_.begin(), streams_.end());
    for (auto* stream : all) stream->shut_down();
    co_await tasks_.wait();
  }

 private:
  template <class... Args>
  coro::task<void> serve(std::unique_ptr<typename Stream::call> call, Args&... args) {
    Stream stream(*call, args...);
    if (stopping_) stream.shut_down();
    entry const listed(*this, stream);
    co_await stream.run();
  }

  class entry {
   public:
    entry(stream_list& list, Stream& stream) : list_(list), stream_(stream) {
      list_.streams_.insert(&stream_);
    }
    ~entry() { list_.streams_.erase(&stream_); }
    entry(entry const&) = delete;

   private:
    stream_list& list_;
    Stream& stream_;
  };

  std::unordered_set<Stream*> streams_;
  bool stopping_ = false;
  coro::task_group tasks_;
};

}  // namespace muster::server
