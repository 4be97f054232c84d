// Sets up the process-wide logger: one line an event on stderr, `key=value` words after the text.
// Lines are written by a thread of their own; when stderr does not keep up, the oldest lines are
// dropped, never the server's time.
#pragma once

#include <string_view>

#include "server/app/configuration.hpp"
#include "server/hub/notice.hpp"

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
void log(notice const& n);

}  // namespace muster::server
