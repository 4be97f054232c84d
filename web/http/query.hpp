// Typed access to query parameters. The dispatcher has checked them against the route's
// description. If a reader is used without that check, it records the failure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "web/http/http.hpp"
#include "web/http/route.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

/// Maximum wait of a request; longer timeouts are reduced to it.
inline constexpr std::chrono::milliseconds wait_max = std::chrono::minutes(10);
inline constexpr std::chrono::milliseconds wait_default = std::chrono::seconds(30);

class query_check {
 public:
  explicit query_check(request const& r) : request_(r) {}

  bool failed() const { return failure_.has_value(); }
  /// REQUIRES: failed().
  problem const& failure() const { return *failure_; }
  void fail(std::string_view name, std::string what) {
    if (!failure_) failure_ = invalid(std::string(name), std::move(what));
  }

  /// Checks a parameter against its description; records a failure if it is invalid. A missing
  /// parameter passes unless it is required.
  void check(query_parameter const& p);

  std::string_view text(std::string_view name) const { return request_.parameter(name); }
  std::size_t limit();
  std::chrono::milliseconds timeout() { return duration("timeout", wait_default); }
  /// Returns a duration of at most wait_max, or `otherwise` if the parameter is missing.
  std::chrono::milliseconds duration(std::string_view name, std::chrono::milliseconds otherwise);
  bool flag(std::string_view name, bool otherwise = false);
  /// Returns the number in an opaque page token of this kind; 0 if there is no token.
  std::uint64_t page_token(char kind);
  /// Returns kind and number of a page token, for listings whose parts have different kinds.
  /// Without a token, returns the first kind and 0.
  std::pair<char, std::uint64_t> page_token(std::string_view kinds);
  /// Returns the text in an opaque page token; empty if there is no token.
  std::string page_text(char kind);
  /// Returns a whole number, or `otherwise` if the parameter is missing.
  std::uint64_t number(std::string_view name, std::uint64_t otherwise);

 private:
  void check_number(query_parameter const& p, std::string_view given);
  void check_choice(query_parameter const& p, std::string_view given);
  std::optional<std::string> token_of(std::string_view kinds);

  request const& request_;
  std::optional<problem> failure_;
};

/// Returns a token: the letter of the listing and hex digits, 16 for a number or two for each byte
/// of a text.
std::string page_token(char kind, std::uint64_t cursor);
std::string page_token(char kind, std::string_view cursor);

schema::json schema_of(query_parameter const& p);

/// Parses the text after '?'. Returns a problem if an escape is malformed or a name is repeated.
std::optional<problem> parse_query(std::string_view text, request& into);

}  // namespace muster::web
