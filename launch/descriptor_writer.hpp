// Writes to descriptors in order on a separate thread, so that a slow or stopped reader does not
// block the caller. Callers must check full() before they read more. The launcher owns it and uses
// it on its thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

namespace muster::launch {

class descriptor_writer {
 public:
  /// Limit above which full() returns true. The writer still accepts further text, so that the last
  /// line of each stream is not lost.
  static constexpr std::size_t bytes_max = std::size_t{1} << 20;

  /// Called on the writer's thread while a lock is held. Callbacks must not call this object.
  /// `on_room` is called when a full writer has space again, `on_drained` when all text has been
  /// written after finish(), and `on_error` once for each descriptor that fails.
  struct callbacks {
    std::function<void()> on_room;
    std::function<void()> on_drained;
    std::function<void(int fd, int error)> on_error;
  };

  explicit descriptor_writer(callbacks c);
  ~descriptor_writer();
  descriptor_writer(descriptor_writer const&) = delete;

  void post(int fd, std::string_view text);
  /// Calls `written` as a callback when all text posted so far was written or has failed. After
  /// abandon(), calls `written` immediately on the caller's thread.
  void mark(std::function<void()> written);
  bool full() const;
  void finish();
  /// Drops pending text. Afterwards, no callback is called.
  void abandon();

 private:
  struct state;
  static void run(std::shared_ptr<state> const& s);

  std::shared_ptr<state> state_;  // shared with the thread, because a hanging write can outlive
                                  // this object
  std::thread thread_;
};

}  // namespace muster::launch
