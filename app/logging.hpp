// Sets up the process-wide logger: one line an event on stderr, `key=value` words after the text.
// Lines are written by a thread of their own; when stderr does not keep up, the oldest lines are
// dropped, never the server's time.
#pragma once

#include <spdlog/common.h>

#include <string_view>

#include "app/configuration.hpp"
#include "server/hub/log_event.hpp"

namespace muster::server {

/// True for "trace", "debug", "info", "warn", "error", "off".
bool is_log_level(std::string_view level);

/// Installs the default logger for its own lifetime; the destructor writes out what is left.
class logging {
 public:
  logging(std::string_view level, log_format format);
  ~logging();
  logging(logging const&) = delete;
};

/// Any thread.
void log(log_event const& n);

/// The same line for whoever cannot wait for the logger's thread: the supervisor, which has none,
/// and a process's last words. Dropped when stderr takes nothing. Any thread; also in a signal
/// handler, where `text` has less than 100 characters: no lock, and no memory for so few.
void write_log_line(spdlog::level::level_enum level, std::string_view text) noexcept;
/// Of write_log_line; `logging` sets it, too. REQUIRES: before other threads.
void set_line_format(log_format format);

}  // namespace muster::server
