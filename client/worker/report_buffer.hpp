// What running functions log and how far they say they are, on its way to the server: written by
// any thread, emptied by the engine thread into the messages of the stream that is open. Outlives
// the streams, as closures do. Owned by the runtime.
//
// Nobody ever waits here. Lines that find no room are dropped, and a line in their place says how
// many they were; of progress only the newest counts.
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
  /// A longer line is cut and says so.
  std::size_t line_bytes_max = std::size_t{8} << 10;
  std::size_t progress_text_bytes_max = 200;
  /// Of one closure, and of all together; both count what was handed over and is not yet on the
  /// wire. Full: lines are dropped and counted.
  std::size_t closure_bytes_max = std::size_t{1} << 20;
  std::size_t bytes_max = std::size_t{8} << 20;
  static constexpr std::size_t line_overhead = 64;
  /// Progress goes out no more often than this, but for the last one of a closure.
  std::chrono::milliseconds progress_every{100};
};

class report_buffer {
 public:
  using clock = std::chrono::steady_clock;
  using outbox = proto::outbox<v1::WorkerMessage>;

  /// Whose report it is.
  struct origin {
    std::uint64_t closure = 0;
    std::uint32_t attempt = 0;
  };

  /// `wake` is called, from the reporting thread, when something waits and nothing waited before.
  explicit report_buffer(std::function<void()> wake, report_limits limits = {});

  // Any thread.
  /// Adds each line of `text`; an empty last one does not count. If `text` ends with a carriage
  /// return, its last line has not ended: the next one of the closure and level replaces it.
  void log(origin const& of, v1::LogLevel level, std::string_view text);
  void progress(origin const& of, double fraction, std::string_view text);

  // Engine thread.
  /// A connection begins. What is here goes out on it; what was handed over to the last one and is
  /// not on the wire is gone, and its room is free again.
  void open();
  /// Moves what is to be sent into `to`: lines in order, and progress unless some was sent a moment
  /// ago; then the result is when to call again.
  std::optional<clock::time_point> drain(outbox& to, clock::time_point now);
  /// A closure is about to be answered: moves its lines and progress into `to`.
  void finish(origin const& of, outbox& to);
  /// A message with lines is on the wire: their room is free again.
  void sent(v1::WorkerMessage const& message);

 private:
  struct line {
    origin of;
    v1::LogLevel level{};
    std::int64_t time_ms = 0;
    std::string text;
  };
  struct account {
    std::size_t bytes = 0;  // in lines_ and on the way
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

  std::mutex mutex_;  // protects all below
  std::deque<line> lines_;
  std::unordered_map<std::uint64_t, latest> progress_;   // by closure; one for each that runs
  std::unordered_map<std::uint64_t, account> accounts_;  // by closure, while it has something here
  std::size_t bytes_ = 0;
  clock::time_point progress_due_{};
  bool told_lines_ = false;     // the engine was woken and has not looked yet
  bool told_progress_ = false;  // the engine will look, at the latest when it is due

  std::atomic<bool> something_ = false;  // lines_, progress_ or accounts_; spares `finish` the lock
};

/// What a context reports through: one closure's part of the buffer.
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
