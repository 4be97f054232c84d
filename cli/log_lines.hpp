// Closure log lines, prepared for a terminal.
#pragma once

#include <string>

#include "base/unfinished_line.hpp"
#include "cli/rest.hpp"

namespace muster::cli {

/// Returns false if the next line of the same closure and level replaces this line.
bool line_has_ended(json::value const& line);

/// Lines with the same key (closure, attempt and level) replace each other.
std::string source_of(json::value const& line);

/// Prints lines to standard output. On a terminal, a line replaces an incomplete line of the same
/// source.
class line_printer {
 public:
  line_printer();
  ~line_printer();
  line_printer(line_printer const&) = delete;

  bool is_terminal() const { return terminal_; }
  /// Prints control characters as spaces.
  void line(std::string const& source, std::string const& text, bool ended);
  void end();

 private:
  bool const terminal_;
  unfinished_line last_;
};

/// Returns "[#3 worker:1] warning: text". Includes the source if there are several sources, the
/// attempt if it is not attempt 1, and the level if the line has a level. Control characters become
/// spaces.
std::string log_text(json::value const& line, bool several);

struct log_lines_read {
  json::array lines;
  std::uint64_t after = 0;
  std::uint64_t dropped = 0;
  bool ended = false;
};
/// Returns lines after `after`, or the newest `tail` lines unless `tail` is 0. Waits up to `wait`
/// for a line. `id` is the ID of a closure or a job.
log_lines_read read_log_page(rest& server, std::string const& id, std::uint64_t after,
                             duration wait, std::uint64_t tail = 0);

}  // namespace muster::cli
