#include "cli/job_submission.hpp"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

#include "cli/table.hpp"
#include "cli/waiting_reason.hpp"

namespace muster::cli {
namespace {

// A nearly full server accepts most of a chunk of this size, and the overhead of a request is
// negligible.
constexpr std::size_t chunk_lines_max = 4096;
constexpr std::size_t chunk_bytes_max = std::size_t{4} << 20;
constexpr std::size_t line_bytes_max = std::size_t{64} << 20;
constexpr auto retry_after_default = std::chrono::seconds(1);
constexpr auto retry_after_max = std::chrono::seconds(60);

/// The key prevents a second job if a server fails before it answers.
std::string key_of_its_own() {
  std::random_device random;
  std::string key = "submit";
  for (int i = 0; i < 4; ++i) key += "-" + std::to_string(random());
  return key;
}

json::object job_body(job_request const& request) {
  // The default is sent explicitly, so that repeated requests from other versions are equal.
  json::object body{{"on_error", "fail_fast"}};
  for (auto const& [name, value] : request.job.body()) body[name] = value;
  if (auto options = request.options.body(); !options.empty()) body["options"] = std::move(options);
  return body;
}

std::chrono::seconds retry_after(muster::http_response const& response) {
  auto const text = response.header("Retry-After");
  long seconds = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{}) return retry_after_default;
  return std::clamp(std::chrono::seconds(seconds), std::chrono::seconds(1), retry_after_max);
}

std::string_view first_lines(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; count > 0 && at < text.size(); --count) at = text.find('\n', at) + 1;
  return text.substr(0, at);
}

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void pause_before_retry(muster::http_response const& response,
                        wait_limit::clock::time_point until) {
  auto const left = std::max(until - wait_limit::clock::now(), wait_limit::clock::duration());
  std::this_thread::sleep_for(std::min<wait_limit::clock::duration>(retry_after(response), left));
}

/// Retries for up to two minutes while the server is unavailable.
muster::http_response send_again(rest& server, std::string const& path, std::string const& lines) {
  auto const until = wait_limit::clock::now() + std::chrono::minutes(2);
  for (;;) {
    bool const last = wait_limit::clock::now() >= until;
    try {
      auto response = server.send("POST", path, lines, "application/x-ndjson");
      if (response.status != 503 || last) return response;
      pause_before_retry(response, until);
    } catch (command_error const& e) {
      if (e.status() != exit_unreachable || last) throw;
      std::this_thread::sleep_for(retry_after_default);
    }
  }
}

class no_room_error : public command_error {
 public:
  using command_error::command_error;
};

/// While the server is full, sends fewer and fewer lines at a time, finally one per second.
class appender {
 public:
  /// @param whole true if all closures form a gang and must be sent in one request
  appender(rest& server, std::string job, bool whole, room_wait const& wait)
      : server_(server), job_(std::move(job)), whole_(whole), wait_(wait) {}

  /// Sends the lines of `chunk` as closures from position `first`. After an interruption, the
  /// server skips lines that it already has.
  /// @return false if the job has failed or was cancelled
  bool append(std::string_view chunk, std::int64_t first) {
    while (!chunk.empty()) {
      auto const part = whole_ ? chunk : first_lines(chunk, lines_at_once_);
      auto const path = "/api/v1/jobs/" + job_ + "/closures?first=" + std::to_string(first);
      auto const response = send_again(server_, path, std::string(part));
      if (response.status == 409) return false;
      if (!response.ok() && response.status != 429) throw rest::problem(response);
      auto const lines = lines_in(part);
      auto const accepted = response.ok() ? lines : accepted_lines(response);
      chunk.remove_prefix(first_lines(chunk, accepted).size());
      first += static_cast<std::int64_t>(accepted);
      if (accepted > 0) refused_since_.reset();
      if (response.ok())
        lines_at_once_ = std::min(chunk_lines_max, 2 * lines_at_once_);
      else if (!whole_ && lines > 1)
        lines_at_once_ = std::max<std::size_t>(1, lines / 2);
      else
        wait_for_room(response, first);
    }
    return true;
  }

 private:
  static std::size_t accepted_lines(muster::http_response const& response) {
    boost::system::error_code ec;
    return count_of(json::parse(response.body, ec), "accepted");
  }

  static std::string reason_of(muster::http_response const& response) {
    std::string text = rest::problem(response).what();
    auto const colon = text.find(": ");
    return text.starts_with("line ") && colon != text.npos ? text.substr(colon + 2) : text;
  }

  void wait_for_room(muster::http_response const& response, std::int64_t accepted) {
    auto const now = wait_limit::clock::now();
    if (!refused_since_) refused_since_ = now;
    auto const reason = reason_of(response);
    if (wait_.limit.is_over())
      throw no_room_error(exit_failed, "after " + to_string(*wait_.limit.timeout) +
                                           " the server cannot accept more closures: " + reason +
                                           "; accepted so far: " + std::to_string(accepted));
    if (!wait_.quiet && now - *refused_since_ >= std::chrono::seconds(1)) print_once(reason);
    pause_before_retry(response, wait_.limit.end);
  }

  // Ignores a reason that differs from the previous reason only in numbers.
  void print_once(std::string const& reason) {
    auto kind = reason;
    std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
    if (std::exchange(printed_, kind) == kind) return;
    auto const cause = waiting_reason(server_, job_, wait_limit::clock::now()).ask().cause;
    std::cerr << "waiting: " << for_terminal(reason + (cause.empty() ? "" : "; " + cause)) << '\n';
  }

  rest& server_;
  std::string const job_;
  bool const whole_;
  room_wait const& wait_;
  std::size_t lines_at_once_ = chunk_lines_max;
  std::optional<wait_limit::clock::time_point> refused_since_;  // not set while the server accepts
                                                                // lines
  std::string printed_;
};

// `head` is the beginning of the JSON, up to the arguments.
std::string closure_line(std::string const& head, std::string_view line, std::string const& name,
                         std::size_t number) {
  boost::system::error_code ec;
  auto const parsed = json::parse(json::string_view(line.data(), line.size()), ec);
  if (ec || !parsed.is_array())
    throw command_error(exit_usage, name + ":" + std::to_string(number) +
                                        ": not a JSON list of arguments, such as [1, \"two\"]");
  return head + std::string(line) + "}\n";
}

bool send_lines(rest& server, std::string const& job, job_request const& request,
                std::istream& lines, std::string const& name, std::int64_t skipped,
                room_wait const& wait) {
  auto head = "{\"function\":" + json::serialize(json::value(request.function));
  auto const options = request.closure.body();
  if (!options.empty()) head += ",\"options\":" + json::serialize(options);
  if (request.check)
    head += std::string(",\"kwargs\":{\"check\":") + (*request.check ? "true}" : "false}");
  head += ",\"args\":";
  bool const whole = options.contains("gang");  // a gang must be sent in one request
  appender closures(server, job, whole, wait);
  std::string chunk, line;
  std::size_t number = 0, in_chunk = 0;
  auto first = skipped;
  while (read_line(lines, line, name, number + 1)) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (skipped-- > 0) continue;
    chunk += closure_line(head, line, name, number);
    ++in_chunk;
    if (whole || (in_chunk < chunk_lines_max && chunk.size() < chunk_bytes_max)) continue;
    if (!closures.append(std::exchange(chunk, {}), first)) return false;
    first += static_cast<std::int64_t>(std::exchange(in_chunk, 0));
  }
  if (lines.bad()) throw command_error(exit_failed, name + ": cannot be read completely");
  return closures.append(chunk, first);
}

/// Ignores errors, because the submission's first error is reported.
void cancel_submission(rest& server, std::string const& job) {
  try {
    server.post("/api/v1/jobs/" + job + "/cancel", {});
  } catch (command_error const&) {
  }
}

}  // namespace

bool read_line(std::istream& lines, std::string& line, std::string const& name,
               std::size_t number) {
  line.clear();
  char piece[64 << 10];
  for (;;) {
    lines.getline(piece, sizeof piece);
    auto const n = static_cast<std::size_t>(lines.gcount());
    if (lines.bad()) return false;
    bool const goes_on = lines.fail() && !lines.eof();
    bool const has_end = !lines.fail() && !lines.eof();
    line.append(piece, has_end ? n - 1 : n);
    if (line.size() > line_bytes_max)
      throw command_error(exit_usage,
                          name + ":" + std::to_string(number) + ": the line is longer than 64 MiB");
    if (!goes_on) return has_end || !line.empty();
    lines.clear(lines.rdstate() & ~std::ios::failbit);
  }
}

json::value argument(std::string const& text) {
  boost::system::error_code ec;
  auto value = json::parse(text, ec);
  return ec ? json::value(text) : value;
}

std::vector<std::string> nearly_json(std::vector<std::string> const& arguments) {
  std::vector<std::string> all;
  for (auto const& text : arguments) {
    auto const begin = text.find_first_not_of(" \t\r\n");
    bool const looks = begin != text.npos && (text[begin] == '{' || text[begin] == '[');
    if (looks && argument(text).is_string()) all.push_back(text);
  }
  return all;
}

json::value submit_one(rest& server, job_request const& request,
                       std::vector<std::string> const& arguments) {
  json::array args;
  for (auto const& text : arguments) args.push_back(argument(text));
  auto body = job_body(request);
  body.emplace("idempotency_key", key_of_its_own());
  json::object closure{{"function", request.function}, {"args", args}};
  if (auto options = request.closure.body(); !options.empty())
    closure["options"] = std::move(options);
  if (request.check) closure["kwargs"] = {{"check", *request.check}};
  body["closures"] = json::array{std::move(closure)};
  return server.post_once("/api/v1/jobs", json::serialize(body));
}

json::value submit_lines(rest& server, job_request const& request, std::istream& lines,
                         std::string const& name, room_wait const& wait) {
  auto body = job_body(request);
  bool const has_key = !body.emplace("idempotency_key", key_of_its_own()).second;
  body["open"] = true;
  body["closures"] = json::array();
  auto job = server.post_once("/api/v1/jobs", json::serialize(body));
  auto const id = text_of(job, "id");
  // An earlier submission with this idempotency key may have been interrupted.
  if (has_key) {
    job = server.get("/api/v1/jobs/" + id);
    if (!is_true(job, "open")) return job;
  }
  auto const there = number_of(field_of(job, "counts"), "total");
  try {
    if (send_lines(server, id, request, lines, name, there, wait))
      server.post("/api/v1/jobs/" + id + "/seal", {});
  } catch (no_room_error const& e) {
    if (has_key)
      throw command_error(exit_failed, std::string(e.what()) + ", and " + id +
                                           " remains open: run the command again to continue it");
    cancel_submission(server, id);
    throw command_error(exit_failed, std::string(e.what()) + ", and " + id +
                                         " was cancelled; raise --timeout, connect "
                                         "workers, or delete finished jobs");
  } catch (...) {
    cancel_submission(server, id);
    throw;
  }
  return job;
}

}  // namespace muster::cli
