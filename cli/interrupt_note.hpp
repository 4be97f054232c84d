// A line that is printed to stderr when Ctrl-C ends a command. One object at a time; main thread.
#pragma once

#include <string>

namespace muster::cli {

class interrupt_note {
 public:
  /// Makes SIGINT print the line and then do what it did before. An ignored SIGINT stays ignored.
  explicit interrupt_note(std::string const& line);
  ~interrupt_note();
  interrupt_note(interrupt_note const&) = delete;

 private:
  bool installed_ = false;
};

}  // namespace muster::cli
