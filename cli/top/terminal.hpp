// The terminal while `muster top` has it: another screen, keys as they are pressed, signals as
// events; given back however the program is stopped. One object a process, made before the first
// thread, so that no other takes the signals. Main thread, but for wake().
#pragma once

#include <termios.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/process/file_descriptor.hpp"

namespace muster::cli::top {

class terminal {
 public:
  /// Errors: std::system_error.
  terminal();
  ~terminal();
  terminal(terminal const&) = delete;

  enum class event { redraw, key, stopped };
  struct heard {
    event what = event::redraw;
    char key = 0;
    int signal = 0;  // stopped: by this one
  };
  /// No deadline: the next key, signal or wake(). SIGTSTP is obeyed within: the terminal is given
  /// back until the program goes on.
  heard wait();
  /// Any thread: makes wait() return.
  void wake();

  struct size {
    std::size_t columns = 80, rows = 24;
  };
  size measure() const;
  void draw(std::vector<std::string> const& lines);
  /// As it was before. The destructor does so too.
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
