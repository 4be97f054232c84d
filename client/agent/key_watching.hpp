// One watch of a folder of keys: shared by its handle, which ends it from any thread, and by the
// coroutine of the agent that asks and tells.
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

  /// Any thread: see key_watch::stop.
  void stop();

  // Engine thread.
  void begin(ticket* t);
  void end();
  bool stopped() const;

  std::string const folder;
  handler const on_change;

 private:
  mutable std::mutex mutex_;  // protects all below
  std::condition_variable over_;
  coro::engine_context* engine_;  // null once it has ended: the engine may be gone
  ticket* ticket_ = nullptr;      // of the coroutine
  bool stopped_ = false;
};

}  // namespace muster::detail
