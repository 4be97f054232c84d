// A line that is printed to stderr if Ctrl-C ends a command. Only one object can exist at a time,
// on the main thread.
#pragma once

#include <string>

namespace muster::cli {

class interrupt_note {
 public:
  /// SIGINT prints the line and then has its previous effect. An ignored SIGINT stays ignored.
  explicit interrupt_note(std::string const& line);
  ~interrupt_note();
  interrupt_note(interrupt_note const&) = delete;

 private:
  bool installed_ = false;
};

}  // namespace muster::cli
