// Writes to descriptors in order, on a thread of its own, so that a reader who is slow or stopped
// holds up nobody who does not want to be. Bounded: whoever posts looks at full() before reading
// more. Owned by the launcher; used by its thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

namespace muster::launch {

class descriptor_writer {
 public:
  /// From here on it is full; what is posted all the same is still taken, so one line too many of
  /// each stream is no loss.
  static constexpr std::size_t bytes_max = std::size_t{1} << 20;

  /// Called on the writer's thread, with a lock held: they must not call this object. When a full
  /// writer has room again; when all was written after finish(); once for each descriptor that
  /// cannot be written to any more.
  struct callbacks {
    std::function<void()> on_room;
    std::function<void()> on_drained;
    std::function<void(int fd, int error)> on_error;
  };

  explicit descriptor_writer(callbacks c);
  /// Writes what is left, unless abandon() was called.
  ~descriptor_writer();
  descriptor_writer(descriptor_writer const&) = delete;

  /// Writes it before long, on the other thread.
  void post(int fd, std::string_view text);
  /// `written` is called, as the callbacks are, when all that was posted before was written, or
  /// could not be. After abandon() at once, by the caller.
  void mark(std::function<void()> written);
  /// So much waits that nothing more should be posted.
  bool full() const;
  /// Nothing more is posted.
  void finish();
  /// What was not written by now never is; no callback comes any more.
  void abandon();

 private:
  struct state;
  static void run(std::shared_ptr<state> const& s);

  std::shared_ptr<state> state_;  // the thread's too: a write that hangs outlives this object
  std::thread thread_;
};

}  // namespace muster::launch
