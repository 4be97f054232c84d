#include "web/http/response_text.hpp"

#include <charconv>
#include <ctime>

namespace muster::web {

namespace {

// Formats the `Date` header at most once per second.
std::string const& date_text() {
  thread_local std::time_t at = 0;
  thread_local std::string text;
  auto const now = std::time(nullptr);
  if (now == at) return text;
  at = now;
  std::tm utc{};
  gmtime_r(&now, &utc);
  char buffer[64];
  // The names are English because the program never changes the "C" locale.
  text.assign(buffer, std::strftime(buffer, sizeof buffer, "%a, %d %b %Y %H:%M:%S GMT", &utc));
  return text;
}

bool has(response const& r, std::string_view name) {
  for (auto const& [key, value] : r.headers)
    if (key == name) return true;
  return false;
}

}  // namespace

std::string head_text(response const& r, std::optional<std::size_t> length, bool keep_alive) {
  std::string text;
  text.reserve(512 + (length && *length < 64 * 1024 ? *length : 0));
  text += "HTTP/1.1 ";
  text += std::to_string(r.status);
  text += ' ';
  text += reason_phrase(r.status);
  text += "\r\nDate: ";
  text += date_text();
  if (!r.content_type.empty()) {
    text += "\r\nContent-Type: ";
    text += r.content_type;
  }
  if (length) {
    text += "\r\nContent-Length: ";
    text += std::to_string(*length);
  }
  text += "\r\nX-Content-Type-Options: nosniff";
  if (!has(r, "Cache-Control")) text += "\r\nCache-Control: no-store";
  if (!keep_alive && !has(r, "Connection")) text += "\r\nConnection: close";
  for (auto const& [name, value] : r.headers) {
    text += "\r\n";
    text += name;
    text += ": ";
    text += value;
  }
  text += "\r\n\r\n";
  return text;
}

std::string chunk_text(std::string_view piece) {
  char size[20];
  auto const end = std::to_chars(size, size + sizeof size, piece.size(), 16).ptr;
  std::string text;
  text.reserve(piece.size() + 24);
  text.append(size, end);
  text += "\r\n";
  text += piece;
  text += "\r\n";
  return text;
}

}  // namespace muster::web
