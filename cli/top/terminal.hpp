// The terminal during `muster top`: the alternate screen, single keys, and signals as events. The
// terminal is restored however the program ends. A process has one object, which must be created
// before the first thread, so that no other thread receives the signals. Used on the main thread,
// except for wake().
#pragma once

#include <termios.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/process/file_descriptor.hpp"

namespace muster::cli::top {

class terminal {
 public:
  /// @throws std::system_error
  terminal();
  ~terminal();
  terminal(terminal const&) = delete;

  enum class event { redraw, key, stopped };
  struct heard {
    event what = event::redraw;
    char key = 0;
    int signal = 0;  // signal number; set for `stopped`
  };
  /// Waits for a key, a signal or wake(), without a deadline. Handles SIGTSTP: restores the
  /// terminal until the program continues.
  heard wait();
  /// Wakes wait(). Thread-safe.
  void wake();

  struct size {
    std::size_t columns = 80, rows = 24;
  };
  size measure() const;
  void draw(std::vector<std::string> const& lines);
  void give_back();

 private:
  void take();
  heard read_signal();

  file_descriptor signals_, woken_;
  sigset_t before_{};
  termios settings_{};
  bool taken_ = false;
};

}  // namespace muster::cli::top
