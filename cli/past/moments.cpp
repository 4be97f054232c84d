#include "cli/past/moments.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace muster::cli {
namespace {

std::int64_t server_ms(rest& server) {
  return number_of(server.get("/api/v1/stream?to_ms=0&limit=1"), "now_ms");
}

std::optional<std::tm> read(std::string const& text, char const* form, std::tm from) {
  auto const* const end = strptime(text.c_str(), form, &from);
  if (!end || *end != '\0') return {};
  return from;
}

std::int64_t in_ms(std::time_t t) {
  return static_cast<std::int64_t>(t) * 1'000;
}

std::optional<std::int64_t> date(std::string const& text) {
  bool const utc = text.ends_with('Z');
  auto const bare = utc ? text.substr(0, text.size() - 1) : text;
  for (auto const* form :
       {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"}) {
    auto t = read(bare, form, {});
    if (!t) continue;
    t->tm_isdst = -1;
    return in_ms(utc ? timegm(&*t) : std::mktime(&*t));
  }
  return {};
}

std::optional<std::int64_t> time_of_day(std::string const& text) {
  auto const now = std::time(nullptr);
  std::tm today{};
  localtime_r(&now, &today);
  today.tm_sec = 0;
  for (auto const* form : {"%H:%M:%S", "%H:%M"}) {
    auto t = read(text, form, today);
    if (!t) continue;
    t->tm_isdst = -1;
    if (auto const at = std::mktime(&*t); at <= now) return in_ms(at);
    --t->tm_mday;
    t->tm_isdst = -1;
    return in_ms(std::mktime(&*t));
  }
  return {};
}

}  // namespace

std::string local_time(std::int64_t ms) {
  auto const seconds = static_cast<std::time_t>(ms / 1000);
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::int64_t moment(rest& server, std::string const& flag, std::string const& text) {
  if (auto const ago = parse_duration(text)) {
    auto const ms = server_ms(server) - std::chrono::floor<std::chrono::milliseconds>(*ago).count();
    return std::max<std::int64_t>(0, ms);
  }
  if (auto const ms = parse_number(text); ms && *ms <= INT64_MAX)
    return static_cast<std::int64_t>(*ms);
  if (auto const at = date(text)) return *at;
  if (auto const at = time_of_day(text)) return *at;
  throw command_error(exit_usage, flag + " '" + text +
                                      "' is neither an age (10m) nor a time (03:12, "
                                      "2026-11-27T03:12, with Z for UTC, or Unix ms)");
}

std::string time_range::query(rest& server) const {
  std::string text;
  if (!from.empty()) text += "from_ms=" + std::to_string(moment(server, "--from", from)) + "&";
  if (!to.empty()) text += "to_ms=" + std::to_string(moment(server, "--to", to)) + "&";
  return text;
}

void add_time_range(CLI::App& verb, time_range& range, std::string const& what) {
  add_value(
      verb, "--from", range.from, "TIME",
      what +
          ". Start of the time range: an age (10m), 03:12, 2026-11-27T03:12 (Z: UTC) or Unix ms");
  add_value(verb, "--to", range.to, "TIME", "End of the time range (now)");
}

}  // namespace muster::cli
