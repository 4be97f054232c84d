// The flags that say what is logged and how, of `serve` and `proxy`.
#pragma once

#include "cli/command.hpp"
#include "app/logging.hpp"

namespace muster::cli {

inline void add_logging(CLI::App& verb, std::string& level, server::log_format& format) {
  add_value(verb, "--log-level", level, "trace|debug|info|warn|error|off",
            "trace, debug, info, warn, error or off")
      ->check([](std::string const& given) {
        return server::is_log_level(given)
                   ? std::string()
                   : "'" + given + "' is none of trace, debug, info, warn, error, off";
      })
      ->capture_default_str();
  add_choice(verb, "--log-format", format,
             {{"text", server::log_format::text}, {"json", server::log_format::json}},
             "text or json, one line an event on stderr");
}

}  // namespace muster::cli
