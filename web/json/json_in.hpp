// Reads JSON that clients sent, in place: the text is validated once, then walked as slices, so
// that arguments reach the workers exactly as they were written (no number changes on the way) and
// a body of 64 MiB needs no tree. Slices refer to the text and to their parents: keep both alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "web/json/problem.hpp"

namespace muster::web {

/// Nested deeper is refused.
inline constexpr std::size_t json_depth_max = 64;

enum class json_type : std::uint8_t { null, boolean, number, string, array, object };
std::string_view name(json_type t);

/// Checks JSON of a client: exactly one value, no member that is repeated in an object, no number
/// outside the range of a double.
/// @return nothing if it is right, else the problem with its place or the member's name.
std::optional<problem> check_json(std::string_view text);
/// Returns whether a value of a worker is JSON. Unlike check_json it accepts repeated members and
/// numbers of any size, which some languages write.
bool is_json(std::string_view text);

/// One value in text that check_json accepted.
class json_ref {
 public:
  explicit json_ref(std::string_view text);

  json_type type() const;
  std::string_view text() const { return text_; }
  /// "closures[3].args"; empty for the outermost value.
  std::string path() const;

  /// REQUIRES: a string. Decoded.
  std::string string() const;
  /// REQUIRES: a boolean.
  bool boolean() const { return text_.front() == 't'; }
  /// A number without fraction or exponent that fits, else nothing.
  std::optional<std::int64_t> integer() const;

 private:
  friend class json_walk;
  json_ref(std::string_view text, json_ref const* parent) : text_(text), parent_(parent) {}

  std::string_view text_;
  json_ref const* parent_ = nullptr;
  std::string_view key_;   // as written, with quotes; empty in an array
  std::size_t index_ = 0;  // in an array
};

/// The members of an object or elements of an array, in order. REQUIRES: `of` outlives the walk.
class json_walk {
 public:
  explicit json_walk(json_ref const& of);

  bool next();
  /// REQUIRES: next() was true.
  json_ref const& value() const { return value_; }
  std::string key() const;

 private:
  json_ref const& of_;
  std::string_view rest_;  // behind the last value
  bool const object_;
  json_ref value_;
};

/// A JSON string literal, with its quotes, decoded.
std::string decode_json_string(std::string_view literal);

/// Turns JSON values into typed fields and keeps the first thing that is wrong: ask for everything,
/// then look at `failure` once. One per request, web thread.
class json_check {
 public:
  bool failed() const { return failure_.has_value(); }
  /// REQUIRES: failed().
  problem const& failure() const { return *failure_; }

  void fail(problem p) {
    if (!failure_) failure_ = std::move(p);
  }
  void fail(json_ref const& at, std::string what, std::string limit = {}) {
    if (!failure_) failure_ = invalid(at.path(), std::move(what), std::move(limit));
  }
  void unknown(json_ref const& at) { fail(at, "unknown field"); }

  /// True if the value is of this type; else the failure "expected an array, got string".
  bool is(json_ref const& at, json_type wanted);
  /// 400 with more characters than that, 422 with fewer and too many bytes.
  std::string text(json_ref const& at, std::size_t bytes_max);
  bool flag(json_ref const& at);
  std::int64_t integer(json_ref const& at, std::int64_t min, std::int64_t max);

 private:
  std::optional<problem> failure_;
};

}  // namespace muster::web
