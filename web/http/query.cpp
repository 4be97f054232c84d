// Splits a query, and makes typed values and page tokens of its texts.
#include "web/http/query.hpp"

#include "base/text.hpp"

namespace muster::web {

namespace {
constexpr std::size_t parameters_max = 32;  // more: 400
}

std::size_t query_check::limit() {
  auto const given = text("limit");
  if (given.empty()) return page_default;
  auto const n = parse_number(given);
  if (n && *n >= 1 && *n <= page_max) return static_cast<std::size_t>(*n);
  if (!failure_)
    failure_ = invalid("limit", "expected a number from 1 to " + std::to_string(page_max),
                       std::to_string(page_max) + " entries");
  return page_default;
}

std::chrono::milliseconds query_check::duration(std::string_view name,
                                                std::chrono::milliseconds otherwise) {
  auto const given = text(name);
  if (given.empty()) return otherwise;
  auto const d = parse_duration(given);
  if (!d) {
    fail(name, "expected a duration such as 30s or 250ms, got '" + std::string(given) + "'");
    return otherwise;
  }
  return std::min(wait_max, std::chrono::ceil<std::chrono::milliseconds>(*d));
}

bool query_check::flag(std::string_view name, bool otherwise) {
  auto const given = text(name);
  if (given.empty()) return otherwise;
  if (given == "false" || given == "0") return false;
  if (given != "true" && given != "1")
    fail(name, "expected true or false, got '" + std::string(given) + "'");
  return true;
}

std::uint64_t query_check::number(std::string_view name, std::uint64_t otherwise) {
  auto const given = text(name);
  if (given.empty()) return otherwise;
  if (auto const n = parse_number(given)) return *n;
  fail(name, "expected a whole number, got '" + std::string(given) + "'");
  return otherwise;
}

std::uint64_t query_check::page_token(char kind) {
  return page_token(std::string_view(&kind, 1)).second;
}

std::pair<char, std::uint64_t> query_check::page_token(std::string_view kinds) {
  auto const given = text("page_token");
  if (given.empty()) return {kinds.front(), 0};
  auto const decoded = from_base64(given);
  if (decoded && decoded->size() > 1 && kinds.find(decoded->front()) != std::string_view::npos)
    if (auto const n = parse_number(std::string_view(*decoded).substr(1)))
      return {decoded->front(), *n};
  fail_token();
  return {kinds.front(), 0};
}

std::string query_check::page_text(char kind) {
  auto const given = text("page_token");
  if (given.empty()) return {};
  auto decoded = from_base64(given);
  if (decoded && !decoded->empty() && decoded->front() == kind) return decoded->substr(1);
  fail_token();
  return {};
}

void query_check::fail_token() {
  fail("page_token", "expected the next_page_token of an answer of the same listing");
}

std::string page_token(char kind, std::uint64_t cursor) {
  return page_token(kind, std::to_string(cursor));
}

std::string page_token(char kind, std::string_view cursor) {
  return base64_for_urls(kind + std::string(cursor));
}

std::optional<problem> parse_query(std::string_view text, request& into) {
  while (!text.empty()) {
    auto const end = std::min(text.find('&'), text.size());
    auto const part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty()) continue;
    auto const equals = std::min(part.find('='), part.size());
    auto name = percent_decoded(part.substr(0, equals), true);
    auto value = percent_decoded(part.substr(std::min(equals + 1, part.size())), true);
    if (!name || !value) return invalid({}, "the query has a malformed % escape");
    for (auto const& [known, unused] : into.query)
      if (known == *name) return invalid(*name, "given twice");
    if (into.query.size() == parameters_max)
      return invalid({},
                     "the query has more than " + std::to_string(parameters_max) + " parameters",
                     std::to_string(parameters_max) + " parameters");
    into.query.emplace_back(std::move(*name), std::move(*value));
  }
  return {};
}

}  // namespace muster::web
