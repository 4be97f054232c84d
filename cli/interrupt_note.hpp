// The line that a command prints to stderr when Ctrl-C ends it. At most one object at a time; main
// thread.
#pragma once

#include <string>

namespace muster::cli {

class interrupt_note {
 public:
  /// Makes SIGINT print the line before its previous action. An ignored SIGINT stays ignored.
  explicit interrupt_note(std::string const& line);
  /// Restores the previous action of SIGINT.
  ~interrupt_note();
  interrupt_note(interrupt_note const&) = delete;

 private:
  bool installed_ = false;
};

}  // namespace muster::cli
