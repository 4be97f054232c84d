// The terminal during `muster top`: the alternate screen, single key presses, and signals as
// events. The terminal is restored in every case in which the program ends. Create one object in a
// process, before the first thread, so that no other thread receives the signals. Main thread,
// except wake().
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
    int signal = 0;  // if stopped: the signal
  };
  /// Waits for the next key, signal or wake(), without a deadline. Handles SIGTSTP itself: restores
  /// the terminal until the program continues.
  heard wait();
  /// Makes wait() return. Any thread.
  void wake();

  struct size {
    std::size_t columns = 80, rows = 24;
  };
  size measure() const;
  void draw(std::vector<std::string> const& lines);
  /// Restores the terminal. The destructor does so as well.
  void give_back();

 private:
  void take();
  heard hear_signal();

  file_descriptor signals_, woken_;
  sigset_t before_{};
  termios settings_{};
  bool taken_ = false;
};

}  // namespace muster::cli::top
