// Lines of closures' logs, prepared for a terminal.
#pragma once

#include <string>

#include "base/unfinished_line.hpp"
#include "cli/rest.hpp"

namespace muster::cli {

/// Returns whether the line is complete. The next line of the same closure and level replaces an
/// incomplete one.
bool line_has_ended(json::value const& line);

/// Returns a key that is equal for lines which replace each other: those of the same closure,
/// attempt and level.
std::string source_of(json::value const& line);

/// Prints lines to standard output. On a terminal, an incomplete line is replaced by the next line
/// of the same source.
class line_printer {
 public:
  line_printer();
  ~line_printer();
  line_printer(line_printer const&) = delete;

  bool is_terminal() const { return terminal_; }
  /// Prints a line. Control characters become spaces.
  void line(std::string const& source, std::string const& text, bool ended);
  /// Begins a new row if the last line is incomplete.
  void end();

 private:
  bool const terminal_;
  unfinished_line last_;
};

/// Returns a line such as "[#3 worker:1] warning: text". The source is shown if there are several,
/// the attempt if it is not the first, and the level if there is one. Control characters become
/// spaces.
std::string log_text(json::value const& line, bool several);

/// A part of a log, and the position where the next part begins.
struct log_look {
  json::array lines;
  std::uint64_t after = 0;
  std::uint64_t dropped = 0;
  bool ended = false;  // no line will follow
};
/// Returns the lines after `after`, or the newest `tail` lines if `tail` is not 0. Waits up to
/// `wait` for a line. `id` is that of a closure or job.
log_look look_at_log(rest& server, std::string const& id, std::uint64_t after, duration wait,
                     std::uint64_t tail = 0);

}  // namespace muster::cli
