// Flags into the JSON of a job, and lines of a file into chunks of NDJSON.
#include "cli/job_submission.hpp"

#include <algorithm>
#include <charconv>
#include <random>
#include <thread>
#include <utility>

namespace muster::cli {
namespace {

// Small enough that a full server refuses little, large enough that a request's cost does not show.
constexpr std::size_t chunk_lines_max = 4096;
constexpr std::size_t chunk_bytes_max = std::size_t{4} << 20;
constexpr std::size_t line_bytes_max = std::size_t{64} << 20;  // what a server takes by default
constexpr auto retry_after_default = std::chrono::seconds(1);
constexpr auto retry_after_max = std::chrono::seconds(60);

/// So that a server which died before it answered is not given the same job twice.
std::string key_of_its_own() {
  std::random_device random;
  std::string key = "submit";
  for (int i = 0; i < 4; ++i) key += "-" + std::to_string(random());
  return key;
}

json::object job_body(job_request const& request) {
  // The default is sent, too: a repeated request must equal the first, also of an earlier version.
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
  return std::clamp(std::chrono::seconds(seconds), std::chrono::seconds(0), retry_after_max);
}

/// What is left of `chunk` behind its first `count` lines.
std::string behind_lines(std::string const& chunk, std::int64_t count) {
  std::size_t at = 0;
  for (; count > 0 && at < chunk.size(); --count) at = chunk.find('\n', at) + 1;
  return chunk.substr(at);
}

/// The answer of a server that was away meanwhile, if it comes back within `patience`.
muster::http_response send_again(rest& server, std::string const& path, std::string const& chunk) {
  constexpr auto patience = std::chrono::minutes(2);
  auto const until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    bool const last = std::chrono::steady_clock::now() >= until;
    try {
      auto response = server.send("POST", path, chunk, "application/x-ndjson");
      if (response.status != 503 || last) return response;
      std::this_thread::sleep_for(retry_after(response));
    } catch (command_error const& e) {
      if (e.status() != exit_unreachable || last) throw;
      std::this_thread::sleep_for(retry_after_default);
    }
  }
}

/// Sends until the server has taken it all, as the closures from position `first` on; a full server
/// says how far it came and when to come back, and one that was away meanwhile passes over what it
/// has. False: the job takes nothing any more, since it has failed or was cancelled.
bool append(rest& server, std::string const& job, std::string chunk, std::int64_t first) {
  for (;;) {
    auto const path = "/api/v1/jobs/" + job + "/closures?first=" + std::to_string(first);
    auto const response = send_again(server, path, chunk);
    if (response.ok()) return true;
    if (response.status == 409) return false;
    if (response.status != 429) throw rest::problem(response);
    boost::system::error_code ec;
    auto const accepted = number_of(json::parse(response.body, ec), "accepted");
    chunk = behind_lines(chunk, accepted);
    first += accepted;
    std::this_thread::sleep_for(retry_after(response));
  }
}

// `head`: the closure's JSON up to its arguments.
std::string closure_line(std::string const& head, std::string_view line, std::string const& name,
                         std::size_t number) {
  boost::system::error_code ec;
  auto const parsed = json::parse(json::string_view(line.data(), line.size()), ec);
  if (ec || !parsed.is_array())
    throw command_error(exit_usage, name + ":" + std::to_string(number) +
                                        ": not a JSON list of arguments, such as [1, \"two\"]");
  return head + std::string(line) + "}\n";
}

/// All but the first `skipped` that the job has already. False as in append.
bool send_lines(rest& server, std::string const& job, job_request const& request,
                std::istream& lines, std::string const& name, std::int64_t skipped) {
  auto head = "{\"function\":" + json::serialize(json::value(request.function));
  auto const options = request.closure.body();
  if (!options.empty()) head += ",\"options\":" + json::serialize(options);
  if (request.check)
    head += std::string(",\"kwargs\":{\"check\":") + (*request.check ? "true}" : "false}");
  head += ",\"args\":";
  bool const whole = options.contains("gang");  // a gang is of one request
  std::string chunk, line;
  std::size_t number = 0, in_chunk = 0;
  auto first = skipped;  // position of the chunk's first
  while (read_line(lines, line, name, number + 1)) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (skipped-- > 0) continue;
    chunk += closure_line(head, line, name, number);
    ++in_chunk;
    if (whole || (in_chunk < chunk_lines_max && chunk.size() < chunk_bytes_max)) continue;
    if (!append(server, job, std::exchange(chunk, {}), first)) return false;
    first += static_cast<std::int64_t>(std::exchange(in_chunk, 0));
  }
  if (lines.bad()) throw command_error(exit_failed, name + ": cannot be read to its end");
  return chunk.empty() || append(server, job, std::move(chunk), first);
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
    bool const goes_on = lines.fail() && !lines.eof();  // the piece is full
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
                         std::string const& name) {
  auto body = job_body(request);
  bool const has_key = !body.emplace("idempotency_key", key_of_its_own()).second;
  body["open"] = true;
  body["closures"] = json::array();
  auto job = server.post_once("/api/v1/jobs", json::serialize(body));
  auto const id = text_of(job, "id");
  // Found by its key, it is as whoever made it left it, who may have ended midway.
  if (has_key) {
    job = server.get("/api/v1/jobs/" + id);
    if (!is_true(job, "open")) return job;
  }
  auto const there = number_of(field_of(job, "counts"), "total");
  try {
    if (send_lines(server, id, request, lines, name, there))
      server.post("/api/v1/jobs/" + id + "/seal", {});
  } catch (...) {
    try {
      server.post("/api/v1/jobs/" + id + "/cancel", {});
    } catch (command_error const&) {  // the first error is the one to tell
    }
    throw;
  }
  return job;
}

}  // namespace muster::cli
