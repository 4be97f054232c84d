#include "client/log_line.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>

namespace muster {
namespace {

void to_stderr(log_level level, std::string_view line) {
  static auto const logger = [] {
    auto l = std::make_shared<spdlog::logger>("muster",
                                              std::make_shared<spdlog::sinks::stderr_sink_mt>());
    // Uses the same prefix as the server's log.
    l->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %-5l muster: %v", spdlog::pattern_time_type::utc);
    return l;
  }();
  static constexpr spdlog::level::level_enum levels[] = {spdlog::level::debug, spdlog::level::info,
                                                         spdlog::level::warn, spdlog::level::err};
  logger->log(levels[static_cast<std::size_t>(level)], line);
}

struct chosen_log {
  std::mutex mutex;  // protects `function`
  log_function function = to_stderr;
};

chosen_log& chosen() {
  static chosen_log c;
  return c;
}

}  // namespace

void set_log(log_function log) {
  std::lock_guard lock(chosen().mutex);
  chosen().function = std::move(log);
}

void log(log_level level, std::string_view line) {
  std::lock_guard lock(chosen().mutex);
  if (chosen().function) chosen().function(level, line);
}

}  // namespace muster
