// Lines and progress of closures, column by column.
#include "server/rpc/workers/worker_reports.hpp"

#include "server/rpc/column_check.hpp"

namespace muster::server {
namespace {

std::string check_columns(v1::WorkerMessage const& m) {
  int const lines = m.log_closure_size();
  if (m.log_attempt_size() != lines)
    return unequal("log_attempt", m.log_attempt_size(), lines, "lines");
  if (m.log_level_size() != lines) return unequal("log_level", m.log_level_size(), lines, "lines");
  if (m.log_time_ms_size() != lines)
    return unequal("log_time_ms", m.log_time_ms_size(), lines, "lines");
  if (m.log_text_size() != lines) return unequal("log_text", m.log_text_size(), lines, "lines");
  int const n = m.progress_closure_size();
  if (m.progress_attempt_size() != n)
    return unequal("progress_attempt", m.progress_attempt_size(), n, "closures");
  if (m.progress_fraction_size() != n)
    return unequal("progress_fraction", m.progress_fraction_size(), n, "closures");
  if (m.progress_text_size() != n)
    return unequal("progress_text", m.progress_text_size(), n, "closures");
  return {};
}

// A level that only newer workers know reads as info.
log_level level_of(int number) {
  switch (number) {
    case v1::LOG_DEBUG:
      return log_level::debug;
    case v1::LOG_WARNING:
      return log_level::warning;
    case v1::LOG_ERROR:
      return log_level::error;
    case v1::LOG_STDOUT:
      return log_level::standard_output;
    case v1::LOG_STDERR:
      return log_level::standard_error;
    case v1::LOG_DROPPED:
      return log_level::dropped;
    default:
      return log_level::info;
  }
}

// A worker's clock may be anything; a time that cannot be counted in microseconds is no time.
core::time_point time_of(std::int64_t ms, core::time_point now) {
  constexpr std::int64_t ms_max = std::int64_t{1} << 50;
  return ms > 0 && ms < ms_max ? core::time_point(std::chrono::milliseconds(ms)) : now;
}

}  // namespace

std::string take_reports(v1::WorkerMessage const& m, core::stream_id stream,
                         std::shared_ptr<std::string const> const& task, hub& to) {
  if (auto wrong = check_columns(m); !wrong.empty()) return wrong;
  for (int i = 0; i < m.log_closure_size(); ++i) {
    log_line line;
    line.at = time_of(m.log_time_ms(i), to.now());
    line.closure = core::closure_id{m.log_closure(i)};
    line.attempt = m.log_attempt(i);
    line.level = level_of(m.log_level(i));
    line.text = m.log_text(i);
    line.worker = task;
    to.report(stream, std::move(line));
  }
  for (int i = 0; i < m.progress_closure_size(); ++i)
    to.report(stream, core::closure_id{m.progress_closure(i)},
              {m.progress_fraction(i), m.progress_text(i), to.now(), m.progress_attempt(i)});
  return {};
}

}  // namespace muster::server
