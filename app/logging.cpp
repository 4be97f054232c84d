#include "app/logging.hpp"

#include <grpc/support/log.h>
#include <poll.h>
#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

namespace muster::server {
namespace {

log_format line_format = log_format::text;

// Replaces newlines, because messages for agents have several lines.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

constexpr std::size_t lines_waiting_max = 8192;

void append_json_string(spdlog::memory_buf_t& out, std::string_view text) {
  auto const put = [&out](std::string_view s) { out.append(s.data(), s.data() + s.size()); };
  put("\"");
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (byte < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    } else {
      out.push_back(c);
    }
  }
  put("\"");
}

void append_line(spdlog::memory_buf_t& out, std::chrono::system_clock::time_point at,
                 spdlog::level::level_enum level, std::string_view text) {
  using namespace std::chrono;
  auto const now = floor<milliseconds>(at);
  auto const today = floor<days>(now);
  year_month_day const date(today);
  hh_mm_ss const time(now - today);
  auto const name = spdlog::level::to_string_view(level);
  bool const json = line_format == log_format::json;
  auto const put = [&out](std::string_view s) { out.append(s.data(), s.data() + s.size()); };
  put(json ? "{\"time\":\"" : "");
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                 static_cast<unsigned>(date.day()), time.hours().count(), time.minutes().count(),
                 time.seconds().count(), time.subseconds().count());
  put(json ? "\",\"level\":\"" : " ");
  put({name.data(), name.size()});
  if (json) {
    put("\",\"message\":");
    append_json_string(out, text);
    put("}\n");
  } else {
    put(name.size() < 5 ? "  " : " ");
    put(text);
    put("\n");
  }
}

class line_formatter : public spdlog::formatter {
 public:
  void format(spdlog::details::log_msg const& message, spdlog::memory_buf_t& out) override {
    append_line(out, message.time, message.level, {message.payload.data(), message.payload.size()});
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<line_formatter>(); }
};

// gRPC's messages are written for its developers.
void log_of_grpc(gpr_log_func_args* line) {
  spdlog::debug("grpc: {}", line->message);
}
void no_log(gpr_log_func_args*) {}

}  // namespace

bool is_log_level(std::string_view level) {
  constexpr std::array known{"trace", "debug", "info", "warn", "error", "off"};
  return std::find(known.begin(), known.end(), level) != known.end();
}

logging::logging(std::string_view level, log_format format) {
  spdlog::init_thread_pool(lines_waiting_max, 1);
  auto logger = std::make_shared<spdlog::async_logger>(
      "muster", std::make_shared<spdlog::sinks::stderr_sink_mt>(), spdlog::thread_pool(),
      spdlog::async_overflow_policy::overrun_oldest);
  set_line_format(format);
  logger->set_formatter(std::make_unique<line_formatter>());
  logger->set_level(spdlog::level::from_str(std::string(level)));
  spdlog::set_default_logger(std::move(logger));
  gpr_set_log_function(log_of_grpc);
}

logging::~logging() {
  gpr_set_log_function(no_log);
  spdlog::shutdown();
}

void set_line_format(log_format format) {
  line_format = format;
}

void write_log_line(spdlog::level::level_enum level, std::string_view text) noexcept {
  spdlog::memory_buf_t out;
  append_line(out, std::chrono::system_clock::now(), level, text);
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&ready, 1, 0) != 1) return;
  [[maybe_unused]] auto const written = ::write(STDERR_FILENO, out.data(), out.size());
}

void log(log_event const& n) {
  using core::coordination::severity;
  auto const level = n.severity == severity::info      ? spdlog::level::info
                     : n.severity == severity::warning ? spdlog::level::warn
                                                       : spdlog::level::err;
  spdlog::log(level, "{} cluster={} subject=\"{}\" text=\"{}\"", n.kind, n.cluster, n.subject,
              one_line(n.text));
}

}  // namespace muster::server
