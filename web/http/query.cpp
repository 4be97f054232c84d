#include "web/http/query.hpp"

#include <absl/strings/escaping.h>

#include <algorithm>

#include "base/text.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

namespace {

constexpr std::size_t parameters_max = 32;  // requests with more parameters are answered with 400

bool is_flag(std::string_view text) {
  return text == "true" || text == "1" || text == "false" || text == "0";
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<std::string> decoded_token(std::string_view text, std::string_view kinds) {
  if (text.empty() || kinds.find(text.front()) == std::string_view::npos) return {};
  auto const digits = text.substr(1);
  if (digits.size() % 2 != 0 || !is_hex(digits)) return {};
  return text.front() + absl::HexStringToBytes({digits.data(), digits.size()});
}

}  // namespace

void query_check::check(query_parameter const& p) {
  auto const given = text(p.name);
  if (given.empty()) {
    if (!p.missing.empty()) fail(p.name, std::string(p.missing));
    return;
  }
  auto const quoted = ", got '" + std::string(given) + "'";
  switch (p.kind) {
    case query_kind::text:
      break;
    case query_kind::number:
      check_number(p, given);
      break;
    case query_kind::choice:
      check_choice(p, given);
      break;
    case query_kind::choices:
      for (auto const& one : list(p.name)) check_choice(p, one);
      break;
    case query_kind::flag:
      if (!is_flag(given)) fail(p.name, "expected true or false" + quoted);
      break;
    case query_kind::duration:
      if (!is_duration(given)) fail(p.name, "expected a duration such as 30s or 250ms" + quoted);
      break;
    case query_kind::page_token:
      page_token(p.pattern);
      break;
    case query_kind::page_text:
      page_text(p.pattern.front());
      break;
  }
}

void query_check::check_number(query_parameter const& p, std::string_view given) {
  auto const n = parse_number(given);
  if (n && *n >= p.min && *n <= p.max) return;
  auto const range = std::to_string(p.min) + " to " + std::to_string(p.max);
  auto const wanted = p.max == UINT64_MAX ? "a whole number" : "a number from " + range;
  if (failure_) return;
  failure_ = invalid(std::string(p.name),
                     "expected " + wanted + ", got '" + std::string(given) + "'", range);
}

void query_check::check_choice(query_parameter const& p, std::string_view given) {
  std::string words;
  for (auto const c : p.choices) {
    if (equal_ignoring_case(c, given)) return;
    words += words.empty() ? "" : c == p.choices.back() ? " or " : ", ";
    words += c;
  }
  fail(p.name, "expected " + words + ", got '" + std::string(given) + "'");
}

std::vector<std::string> query_check::list(std::string_view name) {
  std::vector<std::string> out;
  for (auto rest = text(name); !rest.empty();) {
    auto const end = std::min(rest.find(','), rest.size());
    if (end > 0) out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (out.size() > list_max)
    fail(name, "expected at most " + std::to_string(list_max) +
                   " values separated by commas, got " + std::to_string(out.size()));
  return out;
}

std::size_t query_check::limit() {
  check(limit_parameter);
  return static_cast<std::size_t>(number("limit", page_default));
}

std::chrono::milliseconds query_check::duration(std::string_view name,
                                                std::chrono::milliseconds otherwise) {
  auto const given = text(name);
  if (!is_duration(given)) return otherwise;
  auto const d = parse_duration(given);
  return d ? std::min(wait_max, std::chrono::ceil<std::chrono::milliseconds>(*d)) : wait_max;
}

bool query_check::flag(std::string_view name, bool otherwise) {
  auto const given = text(name);
  return given.empty() ? otherwise : given == "true" || given == "1";
}

std::uint64_t query_check::number(std::string_view name, std::uint64_t otherwise) {
  return parse_number(text(name)).value_or(otherwise);
}

std::optional<std::string> query_check::token_of(std::string_view kinds) {
  auto const given = text("page_token");
  if (given.empty()) return {};
  auto token = decoded_token(given, kinds);
  if (!token) fail("page_token", "expected 'next_page_token' from a response of the same listing");
  return token;
}

std::uint64_t query_check::page_token(char kind) {
  return page_token(std::string_view(&kind, 1)).second;
}

std::pair<char, std::uint64_t> query_check::page_token(std::string_view kinds) {
  auto const token = token_of(kinds);
  if (!token) return {kinds.front(), 0};
  std::uint64_t n = 0;
  for (unsigned char const byte : token->substr(1)) n = n << 8 | byte;
  if (token->size() == 9) return {token->front(), n};
  fail("page_token", "expected 'next_page_token' from a response of the same listing");
  return {kinds.front(), 0};
}

std::string query_check::page_text(char kind) {
  auto const token = token_of(std::string_view(&kind, 1));
  return token ? token->substr(1) : std::string();
}

std::string page_token(char kind, std::uint64_t cursor) {
  return kind + hex16(cursor);
}

std::string page_token(char kind, std::string_view cursor) {
  return kind + absl::BytesToHexString({cursor.data(), cursor.size()});
}

namespace {

std::string pattern_of_list(std::span<std::string_view const> choices) {
  std::string words;
  for (auto const c : choices) (words += words.empty() ? "(" : "|") += c;
  words += ")";
  return "^(" + words + "(," + words + ")*)?$";
}

}  // namespace

schema::json schema_of(query_parameter const& p) {
  switch (p.kind) {
    case query_kind::number:
      return schema::integer(static_cast<std::int64_t>(p.min), p.max);
    case query_kind::flag:
      return schema::boolean();
    case query_kind::duration:
      return schema::duration();
    // Lower case is accepted as well. The schema omits lower case, because client generators would
    // give both spellings the same name.
    case query_kind::choice:
      return schema::one_of(p.choices);
    case query_kind::choices:
      return schema::matching(pattern_of_list(p.choices));
    case query_kind::page_token:
      return schema::matching("^([" + std::string(p.pattern) + "][0-9a-f]{16})?$");
    case query_kind::page_text:
      return schema::matching("^(" + std::string(p.pattern) + "([0-9a-f]{2})*)?$");
    case query_kind::text:
      break;
  }
  return p.pattern.empty() ? schema::text() : schema::matching(p.pattern);
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
      if (known == *name) return invalid(*name, "this parameter is repeated; send it once");
    if (into.query.size() == parameters_max)
      return invalid({},
                     "the query has more than " + std::to_string(parameters_max) + " parameters",
                     std::to_string(parameters_max) + " parameters");
    into.query.emplace_back(std::move(*name), std::move(*value));
  }
  return {};
}

}  // namespace muster::web
