#include "client/worker/report_buffer.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace muster {
namespace {

using namespace std::chrono_literals;

struct report_buffer_test : testing::Test {
  report_limits limits;
  int wakes = 0;
  report_buffer::outbox out;
  report_buffer::origin const a{10, 1}, b{11, 3};
  report_buffer::clock::time_point now{1h};

  report_buffer& buffer() {
    if (!buffer_) {
      buffer_ = std::make_unique<report_buffer>([this] { ++wakes; }, limits);
      buffer_->open();
    }
    return *buffer_;
  }
  void log(report_buffer::origin const& of, std::string_view text) {
    buffer().log(of, v1::LOG_INFO, text);
  }
  /// Returns the content of the outbox as text, and empties it without marking it as sent.
  std::vector<std::string> taken() {
    std::vector<std::string> all;
    while (!out.empty()) {
      auto part = out.take_front();
      auto const& m = part->message;
      for (int i = 0; i < m.log_closure_size(); ++i)
        all.push_back(std::to_string(m.log_closure(i)) + "/" + std::to_string(m.log_attempt(i)) +
                      (m.log_level(i) == v1::LOG_DROPPED ? " * " : " ") + m.log_text(i));
      for (int i = 0; i < m.progress_closure_size(); ++i)
        all.push_back(std::to_string(m.progress_closure(i)) + " at " +
                      std::to_string(static_cast<int>(m.progress_fraction(i) * 100)) + " " +
                      m.progress_text(i));
      messages.push_back(std::move(m));
    }
    return all;
  }
  void send_all() {
    for (auto const& m : messages) buffer().sent(m);
    messages.clear();
  }
  std::vector<std::string> drained() {
    buffer().drain(out, now);
    return taken();
  }
  using list = std::vector<std::string>;
  std::vector<v1::WorkerMessage> messages;

 private:
  std::unique_ptr<report_buffer> buffer_;
};

TEST_F(report_buffer_test, lines_are_sent_in_order_with_one_wakeup) {
  log(a, "one\ntwo\r\n\nfour\n");
  log(b, "");
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(drained(), (list{"10/1 one", "10/1 two", "10/1 ", "10/1 four", "11/3 "}));
  EXPECT_GT(messages.at(0).log_time_ms(0), 1'700'000'000'000);
  log(a, "five");
  EXPECT_EQ(wakes, 2);
  EXPECT_EQ(drained(), list{"10/1 five"});
  EXPECT_EQ(drained(), list{});
}

TEST_F(report_buffer_test, pending_reports_are_sent_on_the_next_connection) {
  limits.bytes_max = 2 * (report_limits::line_overhead + 2);
  log(a, "a0");
  EXPECT_EQ(drained(), list{"10/1 a0"});  // and never on the wire
  log(b, "b0");
  buffer().progress(b, 0.5, "");
  log(a, "no room");
  buffer().open();
  log(a, "a2");
  EXPECT_EQ(drained(), (list{"11/3 b0", "10/1 * … 1 line dropped", "10/1 a2", "11 at 50 "}));
}

TEST_F(report_buffer_test, text_is_sanitized_and_long_lines_are_cut_at_a_character) {
  limits.line_bytes_max = 10;
  log(a, "bad \xFF byte");
  EXPECT_EQ(drained(), list{"10/1 bad \xEF\xBF\xBD byte"});
  log(a, "123456789ä and more");
  EXPECT_EQ(drained(), list{"10/1 123456789 … 11 bytes cut"});
}

TEST_F(report_buffer_test, excess_lines_of_a_closure_are_dropped_and_counted) {
  limits.closure_bytes_max = 3 * (report_limits::line_overhead + 10);
  for (int i = 0; i < 5; ++i) log(a, "a" + std::to_string(i) + "______");
  log(b, "b0");
  EXPECT_EQ(drained(), (list{"10/1 a0______", "10/1 a1______", "10/1 a2______", "11/3 b0",
                             "10/1 * … 2 lines dropped"}));
  log(a, "no room while the wire is busy");
  send_all();
  log(a, "room again");
  EXPECT_EQ(drained(), (list{"10/1 * … 1 line dropped", "10/1 room again"}));
}

TEST_F(report_buffer_test, total_bytes_are_limited) {
  limits.bytes_max = 2 * (report_limits::line_overhead + 2);
  log(a, "a0");
  log(b, "b0");
  log(a, "a1");
  EXPECT_EQ(drained(), (list{"10/1 a0", "11/3 b0", "10/1 * … 1 line dropped"}));
  send_all();
  log(b, "b1");
  EXPECT_EQ(drained(), list{"11/3 b1"});
}

TEST_F(report_buffer_test, byte_accounting_stays_exact_over_many_rounds) {
  limits.bytes_max = limits.closure_bytes_max = 1'000;
  for (int round = 0; round < 1'000; ++round) {
    for (int i = 0; i < 20; ++i) log(a, "some text of a line");
    auto const lines = drained();
    ASSERT_EQ(lines.size(), 13u) << round;  // as many as fit, and the number of dropped lines
    ASSERT_EQ(lines.back(), "10/1 * … 8 lines dropped");
    send_all();
  }
}

TEST_F(report_buffer_test, sends_only_the_newest_progress_at_intervals) {
  buffer().progress(a, 0.1, "first");
  buffer().progress(a, 0.2, "second");
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(drained(), list{"10 at 20 second"});
  buffer().progress(a, 0.3, "third");
  EXPECT_EQ(buffer().drain(out, now + 10ms), now + 100ms);
  buffer().progress(a, 0.4, "fourth");
  EXPECT_EQ(taken(), list{});
  EXPECT_EQ(wakes, 2);  // for the second drain
  EXPECT_EQ(buffer().drain(out, now + 100ms), std::nullopt);
  EXPECT_EQ(taken(), list{"10 at 40 fourth"});
}

TEST_F(report_buffer_test, progress_is_clamped_to_its_range) {
  buffer().progress(a, 17, "a\nb");
  EXPECT_EQ(drained(), list{"10 at 100 a"});
  now += 1s;
  buffer().progress(a, std::numeric_limits<double>::quiet_NaN(), std::string(300, 'x'));
  EXPECT_EQ(drained(), list{"10 at 0 " + std::string(200, 'x') + " … 100 bytes cut"});
}

TEST_F(report_buffer_test, end_of_a_closure_sends_its_last_progress_and_all_lines) {
  buffer().progress(a, 0.1, "");
  drained();
  log(a, "last");
  buffer().progress(a, 1, "done");
  buffer().progress(b, 0.5, "");
  buffer().finish(a, out);
  EXPECT_EQ(taken(), (list{"10/1 last", "10 at 100 done"}));
  EXPECT_EQ(buffer().drain(out, now + 1s), std::nullopt);
  EXPECT_EQ(taken(), list{"11 at 50 "});
}

TEST_F(report_buffer_test, threads_can_report_concurrently) {
  buffer();
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([this, t] {
      for (int i = 0; i < 1'000; ++i) {
        buffer().log({t, 1}, v1::LOG_STDOUT, std::to_string(i));
        buffer().progress({t, 1}, i / 1000.0, "");
      }
    });
  for (auto& t : threads) t.join();
  std::map<std::uint64_t, int> next;
  buffer().drain(out, now);
  while (!out.empty()) {
    auto const part = out.take_front();
    for (int i = 0; i < part->message.log_closure_size(); ++i)
      EXPECT_EQ(part->message.log_text(i), std::to_string(next[part->message.log_closure(i)]++));
  }
  for (std::uint64_t t = 0; t < 4; ++t) EXPECT_EQ(next[t], 1'000);
}

}  // namespace
}  // namespace muster
