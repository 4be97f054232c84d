// The logging flags of `serve` and `proxy`.
#pragma once

#include "app/logging.hpp"
#include "cli/command.hpp"

namespace muster::cli {

inline void add_logging(CLI::App& verb, std::string& level, server::log_format& format) {
  add_value(verb, "--log-level", level, "trace|debug|info|warn|error|off",
            "Lowest level of messages that are logged")
      ->check([](std::string const& given) {
        return server::is_log_level(given)
                   ? std::string()
                   : "'" + given + "' is not one of trace, debug, info, warn, error, off";
      })
      ->capture_default_str();
  add_choice(verb, "--log-format", format,
             {{"text", server::log_format::text}, {"json", server::log_format::json}},
             "Format of the log on stderr: text or json, one line for each event");
}

}  // namespace muster::cli
