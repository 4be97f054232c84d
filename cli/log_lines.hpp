// Lines of closures' logs made fit for a terminal.
#pragma once

#include <string>

#include "base/unfinished_line.hpp"
#include "cli/rest.hpp"

namespace muster::cli {

/// Whether the next line of the same closure and level does not replace it.
bool line_has_ended(json::value const& line);

/// Returns the text that names the lines which replace each other: those of a closure, its attempt
/// and level.
std::string source_of(json::value const& line);

/// Prints lines to standard output. On a terminal, the next line of the same source replaces one
/// that has not ended.
class line_printer {
 public:
  line_printer();
  ~line_printer();
  line_printer(line_printer const&) = delete;

  bool is_terminal() const { return terminal_; }
  /// Prints a line. Its control characters become spaces.
  void line(std::string const& source, std::string const& text, bool ended);
  /// Begins a new row if the last line has not ended.
  void end();

 private:
  bool const terminal_;
  unfinished_line last_;
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
