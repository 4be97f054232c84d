// The one engine thread of a client process: all workers and sessions share it, since a second
// completion queue in a process costs both. Started by its first user, stopped with its last.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "coro/engine_context.hpp"
#include "coro/task_group.hpp"
#include "muster/tls_options.hpp"

namespace muster {

class client_engine {
 public:
  /// Any thread. Users keep the pointer for as long as anything of theirs runs on the engine.
  static std::shared_ptr<client_engine> shared();

  /// REQUIRES: not on the engine thread.
  ~client_engine();
  client_engine(client_engine const&) = delete;

  coro::engine_context& context() { return context_; }
  /// Engine thread only. Errors that leave a task end the process: they are bugs of this library.
  coro::task_group& tasks() { return tasks_; }

 private:
  client_engine();

  coro::engine_context context_;
  coro::task_group tasks_;
  std::thread thread_;
};

/// Calls `f` on the engine thread after a while, unless the engine ends before. Engine thread only.
void call_later(std::weak_ptr<client_engine> const& engine, std::chrono::milliseconds pause,
                std::function<void()> f);

/// Puts a token into a call's metadata: this one, or that of the environment. Before it starts.
void add_token(grpc::ClientContext& context, std::string const& token);

/// A channel to "host:port", or to the chosen one of "host:port,host:port", that dials at once and
/// at its own pace, with the project's limits. Files of TLS that cannot be read any more: it never
/// connects.
std::shared_ptr<grpc::Channel> make_channel(std::string const& servers, tls_options const& tls);

/// Returns `tls`.
/// @throws std::invalid_argument  a file cannot be read or is not in PEM form; the text names it
tls_options const& checked_tls(tls_options const& tls);

}  // namespace muster
