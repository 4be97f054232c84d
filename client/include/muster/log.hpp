// The library's own log. All functions may be called from any thread.
#pragma once

#include <functional>
#include <string_view>

namespace muster {

/// Severity of a log line.
enum class log_level { debug, info, warning, error };

/// Receives one line without a newline. Calls are serialised, but can come from any library thread.
using log_function = std::function<void(log_level level, std::string_view line)>;

/// Replaces the log function; the default writes to stderr.
/// @param log  receives the lines; if empty, nothing is logged
void set_log(log_function log);

}  // namespace muster
