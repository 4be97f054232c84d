// Where the library's own few lines go: connected, lost, refused. Any thread.
#pragma once

#include <functional>
#include <string_view>

namespace muster {

enum class log_level { debug, info, warning, error };

/// Gets one line without a newline, from any of the library's threads, one at a time.
using log_function = std::function<void(log_level level, std::string_view line)>;

/// Replaces the default, which writes to stderr. Empty: silence.
void set_log(log_function log);

}  // namespace muster
