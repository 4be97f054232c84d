// Appends JSON text to a string without building a tree. Inserts commas and escapes; the caller
// writes a key before each member. Replaces invalid UTF-8 by U+FFFD, because names and errors from
// user programs can contain any bytes.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::web {

class json_out {
  struct scope {
    explicit scope(json_out& o) : out(o) {}
    scope(scope const&) = delete;
    ~scope() { out.end_object(); }
    json_out& out;
  };

 public:
  explicit json_out(std::string& to) : to_(to) {}

  json_out& begin_object() { return open('{'); }
  json_out& end_object() { return close('}'); }
  [[nodiscard]] scope object() { return scope(begin_object()); }
  json_out& begin_array() { return open('['); }
  json_out& end_array() { return close(']'); }
  json_out& key(std::string_view name);

  json_out& string(std::string_view text);
  json_out& boolean(bool b) { return token(b ? "true" : "false"); }
  json_out& null() { return token("null"); }
  template <std::integral T>
  json_out& number(T n) {
    char text[24];
    return token({text, std::to_chars(text, text + sizeof text, n).ptr});
  }
  /// Writes three decimals. NaN and infinity are written as 0.
  json_out& number(double n);
  template <class Range>
  json_out& strings(Range const& texts) {
    begin_array();
    for (auto const& text : texts) string(text);
    return end_array();
  }
  /// Replaces line breaks by spaces, so that the text fits on one NDJSON line.
  json_out& raw(std::string_view json);

 private:
  json_out& open(char c);
  json_out& close(char c);
  json_out& token(std::string_view text);
  void separate() {
    if (comma_) to_ += ',';
    comma_ = true;
  }

  std::string& to_;
  bool comma_ = false;
};

void append_json_string(std::string& to, std::string_view text);

template <class Write>
std::string json_text(Write const& write) {
  std::string text;
  json_out out(text);
  write(out);
  return text;
}

template <class Write>
std::string json_line(Write const& write) {
  return json_text(write) += '\n';
}

}  // namespace muster::web
