// The process-wide logger: one line per event on stderr, with `key=value` pairs after the text. A
// separate thread writes lines. If stderr is too slow, the oldest lines are dropped; the server
// never blocks.
#pragma once

#include <spdlog/common.h>

#include <string_view>

#include "app/configuration.hpp"
#include "server/hub/log_event.hpp"

namespace muster::server {

bool is_log_level(std::string_view level);

/// Installs the default logger. The destructor writes pending lines.
class logging {
 public:
  logging(std::string_view level, log_format format);
  ~logging();
  logging(logging const&) = delete;
};

/// Thread-safe.
void log(log_event const& n);

/// Writes a log line without the logger's thread. Used in the supervisor and immediately before the
/// process exits. If stderr is blocked, the line is dropped. Thread-safe, and async-signal-safe if
/// `text` has fewer than 100 characters.
void write_log_line(spdlog::level::level_enum level, std::string_view text) noexcept;
/// Sets the format of write_log_line.
/// @pre No other threads exist.
void set_line_format(log_format format);

}  // namespace muster::server
