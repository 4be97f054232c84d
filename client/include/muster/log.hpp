// Log of the library itself. May be used from any thread.
#pragma once

#include <functional>
#include <string_view>

namespace muster {

/// Severity of a log line.
enum class log_level { debug, info, warning, error };

/// Receives one line without a newline. Calls are serialised but can come from any thread of the
/// library.
using log_function = std::function<void(log_level level, std::string_view line)>;

/// Replaces the log function; the default writes to stderr.
/// @param log  receives the lines; empty: nothing is logged
void set_log(log_function log);

}  // namespace muster
