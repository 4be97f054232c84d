// The engine thread of a client process, shared by all workers and sessions, because a second
// completion queue slows down both. It starts with its first user and stops with the last.
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
  /// Returns the engine. Users must keep the pointer while any of their code runs on it.
  /// Thread-safe.
  static std::shared_ptr<client_engine> shared();

  /// Must not run on the engine thread.
  ~client_engine();
  client_engine(client_engine const&) = delete;

  coro::engine_context& context() { return context_; }
  /// Engine thread only. An exception that leaves a task ends the process, because it is a bug of
  /// this library.
  coro::task_group& tasks() { return tasks_; }

 private:
  client_engine();

  coro::engine_context context_;
  coro::task_group tasks_;
  std::thread thread_;
};

/// Calls `f` on the engine thread after `pause`, unless the engine ends first. Engine thread only.
void call_later(std::weak_ptr<client_engine> const& engine, std::chrono::milliseconds pause,
                std::function<void()> f);

/// Adds a token, or that of the environment if empty, to a call's metadata. Must be called before
/// the call starts.
void add_token(grpc::ClientContext& context, std::string const& token);

/// Returns a channel to "host:port", or to the chosen server of a list. It connects at once,
/// retries at its own pace and has the project's limits. If TLS files are unreadable, it never
/// connects.
std::shared_ptr<grpc::Channel> make_channel(std::string const& servers, tls_options const& tls);

/// Returns `tls` after checking its files.
/// @throws std::invalid_argument  a file is unreadable or not in PEM format; names the file
tls_options const& checked_tls(tls_options const& tls);

}  // namespace muster
