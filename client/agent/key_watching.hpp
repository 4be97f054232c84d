// A watch of a key folder. The watch is shared by its handle, which can stop it on any thread, and
// by the agent's coroutine that polls the service.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "client/session/ticket.hpp"
#include "coro/engine_context.hpp"
#include "muster/coordination_options.hpp"

namespace muster::detail {

class key_watching : public std::enable_shared_from_this<key_watching> {
 public:
  using handler = std::function<void(key_change const&)>;

  key_watching(coro::engine_context& engine, std::string f, handler h)
      : folder(std::move(f)), on_change(std::move(h)), engine_(&engine) {}

  /// See key_watch::stop. Thread-safe.
  void stop();

  // Used only on the engine thread.
  void begin(ticket* t);
  void end();
  bool stopped() const;

  std::string const folder;
  handler const on_change;

 private:
  mutable std::mutex mutex_;  // protects the following members
  std::condition_variable over_;
  /// Null after the watch has ended, because the engine may no longer exist.
  coro::engine_context* engine_;
  ticket* ticket_ = nullptr;
  bool stopped_ = false;
};

}  // namespace muster::detail
