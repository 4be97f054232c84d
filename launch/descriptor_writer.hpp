// Writes to descriptors in order on a separate thread, so that a slow or stopped reader does not
// block the caller. Bounded: callers must check full() before they read more. Owned by the launcher
// and used on its thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

namespace muster::launch {

class descriptor_writer {
 public:
  /// Limit for full(). Text posted beyond this limit is still accepted, so that the last line of
  /// each stream is not lost.
  static constexpr std::size_t bytes_max = std::size_t{1} << 20;

  /// Called on the writer's thread while a lock is held. Callbacks must not call this object.
  /// `on_room` is called when a full writer has space again, `on_drained` when all text was written
  /// after finish(), and `on_error` once for each descriptor that fails.
  struct callbacks {
    std::function<void()> on_room;
    std::function<void()> on_drained;
    std::function<void(int fd, int error)> on_error;
  };

  explicit descriptor_writer(callbacks c);
  ~descriptor_writer();
  descriptor_writer(descriptor_writer const&) = delete;

  void post(int fd, std::string_view text);
  /// Calls `written` when all text posted before was written or failed, in the same way as the
  /// callbacks. After abandon(), calls it immediately on the caller's thread.
  void mark(std::function<void()> written);
  bool full() const;
  void finish();
  /// Drops pending text. No callback is called afterwards.
  void abandon();

 private:
  struct state;
  static void run(std::shared_ptr<state> const& s);

  std::shared_ptr<state> state_;  // a hanging write on the thread outlives this object
  std::thread thread_;
};

}  // namespace muster::launch
