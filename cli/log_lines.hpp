// Lines of closures' logs made fit for a terminal.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// Whether the next line of the same closure and level does not replace it.
bool line_has_ended(json::value const& line);

/// Prints lines to standard output. On a terminal, a line that has not ended is overwritten by the
/// next one.
class line_printer {
 public:
  explicit line_printer(bool terminal) : terminal_(terminal) {}
  ~line_printer();
  void line(std::string const& text, bool ended);

 private:
  bool const terminal_;
  bool open_ = false;  // the cursor is at the beginning of a line that is to be overwritten
};

/// "[#3 worker:1] warning: text": where several closures speak, who it is; which attempt unless it
/// is the first; the level where it is one. Control characters become spaces.
std::string log_text(json::value const& line, bool several);

/// One look at a log: lines after a number, and how to go on.
struct log_look {
  json::array lines;
  std::uint64_t after = 0;
  std::uint64_t dropped = 0;
  bool ended = false;  // no line will follow
};
/// `id`: cl_… or job_…. Waits up to `wait` for a line. `tail`: the newest so many instead.
log_look look_at_log(rest& server, std::string const& id, std::uint64_t after, duration wait,
                     std::uint64_t tail = 0);

}  // namespace muster::cli
