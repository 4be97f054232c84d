// Typed access to query parameters. The dispatcher has already checked them; without this check,
// the reader records failures itself.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "web/http/http.hpp"
#include "web/http/route.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

/// Maximum timeout. Longer timeouts are reduced to this time.
inline constexpr std::chrono::milliseconds wait_max = std::chrono::minutes(10);
inline constexpr std::chrono::milliseconds wait_default = std::chrono::seconds(30);

class query_check {
 public:
  /// Maximum number of values in a list; more are an error.
  static constexpr std::size_t list_max = 100;

  explicit query_check(request const& r) : request_(r) {}

  bool failed() const { return failure_.has_value(); }
  problem const& failure() const { return *failure_; }
  void fail(std::string_view name, std::string what) {
    if (!failure_) failure_ = invalid(std::string(name), std::move(what));
  }

  /// Records a failure if the parameter is invalid or a required parameter is missing.
  void check(query_parameter const& p);

  std::string_view text(std::string_view name) const { return request_.parameter(name); }
  /// Returns the values between commas without empty ones, at most list_max.
  std::vector<std::string> list(std::string_view name);
  std::size_t limit();
  std::chrono::milliseconds timeout() { return duration("timeout", wait_default); }
  /// Reduces a longer duration to wait_max.
  std::chrono::milliseconds duration(std::string_view name, std::chrono::milliseconds otherwise);
  bool flag(std::string_view name, bool otherwise = false);
  /// Returns the number in a page token with this letter, or 0 if there is no token.
  std::uint64_t page_token(char kind);
  /// Returns the letter and the number in the page token, or the first letter and 0 if there is no
  /// token.
  std::pair<char, std::uint64_t> page_token(std::string_view kinds);
  std::string page_text(char kind);
  std::uint64_t number(std::string_view name, std::uint64_t otherwise);

 private:
  void check_number(query_parameter const& p, std::string_view given);
  void check_choice(query_parameter const& p, std::string_view given);
  std::optional<std::string> token_of(std::string_view kinds);

  request const& request_;
  std::optional<problem> failure_;
};

/// Returns the listing's letter and hex digits: 16 for a number, two for each byte of a text.
std::string page_token(char kind, std::uint64_t cursor);
std::string page_token(char kind, std::string_view cursor);

schema::json schema_of(query_parameter const& p);

/// Parses the part of the target after '?'. Returns a problem if an escape is malformed or a name
/// is repeated.
std::optional<problem> parse_query(std::string_view text, request& into);

}  // namespace muster::web
