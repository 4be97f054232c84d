// What a verb leaves behind when Ctrl-C ends it: one line on stderr. One at a time, of the main
// thread.
#pragma once

#include <string>

namespace muster::cli {

class interrupt_note {
 public:
  /// From now on SIGINT writes the line and then does what it would have done; where it is ignored
  /// it stays so.
  explicit interrupt_note(std::string const& line);
  /// SIGINT is as it was before.
  ~interrupt_note();
  interrupt_note(interrupt_note const&) = delete;

 private:
  bool installed_ = false;
};

}  // namespace muster::cli
