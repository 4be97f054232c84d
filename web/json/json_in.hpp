// Reads JSON from clients in place: the text is validated once and then read through slices.
// Arguments therefore reach the workers unchanged, and a body of 64 MiB needs no tree. A slice
// refers to the text and to its parent slice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "web/json/problem.hpp"

namespace muster::web {

inline constexpr std::size_t json_depth_max = 64;

enum class json_type : std::uint8_t { null, boolean, number, string, array, object };
std::string_view name(json_type t);

/// Accepts exactly one value, without repeated members in an object or numbers outside the range of
/// a double.
/// @return nothing if the text is valid, otherwise the problem with the position or the member's
///   name.
std::optional<problem> check_json(std::string_view text);
/// Unlike check_json, accepts repeated members and numbers of any size, because some languages
/// write such JSON.
bool is_json(std::string_view text);

class json_ref {
 public:
  explicit json_ref(std::string_view text);

  json_type type() const;
  std::string_view text() const { return text_; }
  /// Returns a path such as "closures[3].args"; empty for the outermost value.
  std::string path() const;

  /// REQUIRES: type() is string.
  std::string string() const;
  bool boolean() const { return text_.front() == 't'; }
  /// Returns the number if it is a 64-bit integer. Numbers with a fraction or exponent, such as 2.0
  /// or 2e0, are accepted up to 2^53.
  std::optional<std::int64_t> integer() const;

 private:
  friend class json_walk;
  json_ref(std::string_view text, json_ref const* parent) : text_(text), parent_(parent) {}

  std::string_view text_;
  json_ref const* parent_ = nullptr;
  std::string_view key_;  // key including the quotes; empty for array elements
  std::size_t index_ = 0;
};

/// Iterates over members or elements in order. REQUIRES: `of` outlives the walk.
class json_walk {
 public:
  explicit json_walk(json_ref const& of);

  bool next();
  /// REQUIRES: next() has returned true.
  json_ref const& value() const { return value_; }
  std::string key() const;

 private:
  json_ref const& of_;
  std::string_view rest_;
  bool const object_;
  json_ref value_;
};

/// `literal` includes the quotes.
std::string decode_json_string(std::string_view literal);

/// Converts JSON values into typed fields and records the first failure. Read all fields, then
/// check failed() once. Each request has its own object. Used on the web thread.
class json_check {
 public:
  bool failed() const { return failure_.has_value(); }
  problem const& failure() const { return *failure_; }

  void fail(problem p) {
    if (!failure_) failure_ = std::move(p);
  }
  void fail(json_ref const& at, std::string what, std::string limit = {}) {
    if (!failure_) failure_ = invalid(at.path(), std::move(what), std::move(limit));
  }
  void unknown(json_ref const& at) { fail(at, "unknown field"); }

  /// If the type differs, records a failure such as "expected an array, got string".
  bool is(json_ref const& at, json_type wanted);
  /// Records a 400 failure for more than `bytes_max` characters, or a 422 failure if only the bytes
  /// exceed the limit.
  std::string text(json_ref const& at, std::size_t bytes_max);
  bool flag(json_ref const& at);
  std::int64_t integer(json_ref const& at, std::int64_t min, std::int64_t max);

 private:
  std::optional<problem> failure_;
};

}  // namespace muster::web
