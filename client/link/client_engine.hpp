// The engine thread of a client process. All workers and sessions share this thread, because a
// second completion queue would slow down both. The thread runs as long as it has users.
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
  /// Users must keep the pointer while their code runs on the engine. Thread-safe.
  static std::shared_ptr<client_engine> shared();

  /// Must not run on the engine thread.
  ~client_engine();
  client_engine(client_engine const&) = delete;

  coro::engine_context& context() { return context_; }
  /// Used only on the engine thread. An exception that leaves a task terminates the process,
  /// because it is a bug in this library.
  coro::task_group& tasks() { return tasks_; }

 private:
  client_engine();

  coro::engine_context context_;
  coro::task_group tasks_;
  std::thread thread_;
};

/// Calls `f` on the engine thread after `pause`, unless the engine ends first. Must be called on
/// the engine thread.
void call_later(std::weak_ptr<client_engine> const& engine, std::chrono::milliseconds pause,
                std::function<void()> f);

/// Adds a token to a call's metadata. If `token` is empty, adds the token from the environment.
/// Must be called before the call starts.
void add_token(grpc::ClientContext& context, std::string const& token);

/// Returns a channel to "host:port", or to the current server of a list. The channel connects
/// immediately and retries at its own intervals. If TLS files are unreadable, the channel never
/// connects.
std::shared_ptr<grpc::Channel> make_channel(std::string const& servers, tls_options const& tls);

/// Returns `tls`. If a file is unreadable or not in PEM format, throws std::invalid_argument, whose
/// message names the file.
tls_options const& checked_tls(tls_options const& tls);

}  // namespace muster
