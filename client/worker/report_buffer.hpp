// Buffers log lines and progress of running functions. Any thread can add reports; the engine
// thread moves the reports to the current stream. Outlives the streams.
//
// Functions never block. Lines that do not fit are dropped, and one line reports their number. Only
// the latest progress is sent.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "muster/context.hpp"
#include "muster/v1/worker.pb.h"
#include "proto/outbox.hpp"

namespace muster {

struct report_limits {
  /// Maximum length of a line; longer lines are truncated and marked.
  std::size_t line_bytes_max = std::size_t{8} << 10;
  std::size_t progress_text_bytes_max = 200;
  /// Maximum unsent bytes, per closure and in total.
  std::size_t closure_bytes_max = std::size_t{1} << 20;
  std::size_t bytes_max = std::size_t{8} << 20;
  static constexpr std::size_t line_overhead = 64;
  /// Minimum time between progress reports, except for a closure's last report.
  std::chrono::milliseconds progress_every{100};
};

class report_buffer {
 public:
  using clock = std::chrono::steady_clock;
  using outbox = proto::outbox<v1::WorkerMessage>;

  struct origin {
    std::uint64_t closure = 0;
    std::uint32_t attempt = 0;
  };

  /// `wake` is called on the reporting thread when a report is added to an empty buffer.
  explicit report_buffer(std::function<void()> wake, report_limits limits = {});

  // Thread-safe.
  /// Adds each line of `text`. If `text` ends with a carriage return, the closure's next line of
  /// this level replaces its last line.
  void log(origin const& of, v1::LogLevel level, std::string_view text);
  void progress(origin const& of, double fraction, std::string_view text);

  // Used only on the engine thread.
  /// Starts a connection. Drops reports that the previous connection has not sent. Stored reports
  /// are sent on the new connection.
  void open();
  /// Moves log lines and progress into `to`. If progress is not due yet, returns the time of the
  /// next call.
  std::optional<clock::time_point> drain(outbox& to, clock::time_point now);
  /// Called before a closure is answered; moves its reports into `to`.
  void finish(origin const& of, outbox& to);
  /// Frees the space of lines that have been sent.
  void sent(v1::WorkerMessage const& message);

 private:
  struct line {
    origin of;
    v1::LogLevel level{};
    std::int64_t time_ms = 0;
    std::string text;
  };
  struct account {
    std::size_t bytes = 0;  // bytes in lines_ and bytes that are being sent
    std::uint64_t dropped = 0;
    origin of;
  };
  struct latest {
    origin of;
    double fraction = 0;
    std::string text;
  };

  bool add(origin const& of, v1::LogLevel level, std::string_view text, bool unfinished);
  line dropped_mark(account& a) const;
  void hand_over_lines(outbox& to);
  static void hand_over(line&& l, outbox& to);
  static void hand_over(latest&& p, outbox& to);

  std::function<void()> const wake_;
  report_limits const limits_;

  std::mutex mutex_;  // protects the following members
  std::deque<line> lines_;
  std::unordered_map<std::uint64_t, latest> progress_;
  std::unordered_map<std::uint64_t, account> accounts_;
  std::size_t bytes_ = 0;
  clock::time_point progress_due_{};
  bool lines_signalled_ = false;
  bool progress_scheduled_ = false;  // whether the engine thread will process progress when due

  // True while lines_, progress_ or accounts_ is not empty; avoids locking in finish().
  std::atomic<bool> has_reports_ = false;
};

class closure_reporter final : public reporter {
 public:
  closure_reporter(report_buffer& to, report_buffer::origin of) : to_(to), of_(of) {}
  void log(log_level level, std::string_view text) override;
  void output(output_stream from, std::string_view text) override;
  void progress(double fraction, std::string_view text) override;

 private:
  report_buffer& to_;
  report_buffer::origin const of_;
};

}  // namespace muster
