// Boost.JSON validates the text. In valid JSON, quotes, backslashes and brackets are enough to find
// the end of a value.
#include "web/json/json_in.hpp"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <cmath>
#include <functional>
#include <vector>

namespace muster::web {

namespace {

namespace json = boost::json;

struct no_handler {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_array_begin(json::error_code&) { return true; }
  bool on_array_end(std::size_t, json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return true; }
  bool on_object_end(std::size_t, json::error_code&) { return true; }
  bool on_string_part(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_key_part(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_key(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, json::error_code&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, json::error_code&) { return true; }
  bool on_double(double, json::string_view, json::error_code&) { return true; }
  bool on_bool(bool, json::error_code&) { return true; }
  bool on_null(json::error_code&) { return true; }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }
};

// Rejects names that are repeated in one object, because parsers disagree about the value of such a
// member. Also rejects numbers outside the range of a double. Compares hashes of names, so that a
// body of 64 MiB needs little memory.
class strict_handler : public no_handler {
 public:
  std::uint64_t repeated() const { return repeated_; }
  bool is_too_large() const { return too_large_; }

  bool on_object_begin(json::error_code&) {
    begins_.push_back(names_.size());
    return true;
  }
  bool on_object_end(std::size_t, json::error_code& ec) {
    auto const begin = names_.begin() + static_cast<std::ptrdiff_t>(begins_.back());
    std::sort(begin, names_.end());
    auto const twice = std::adjacent_find(begin, names_.end());
    if (twice != names_.end()) {
      repeated_ = *twice;
      ec = json::error::syntax;
      return false;
    }
    names_.resize(begins_.back());
    begins_.pop_back();
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
    key_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view last, std::size_t, json::error_code&) {
    key_.append(last.data(), last.size());
    auto const hash = std::hash<std::string>()(key_);
    names_.push_back(hash);
    if (hash == wanted_) found_ = key_;
    key_.clear();
    return true;
  }
  bool on_double(double d, json::string_view, json::error_code& ec) {
    if (std::isfinite(d)) return true;
    too_large_ = true;
    ec = json::error::syntax;
    return false;
  }

  void look_for(std::uint64_t name) { wanted_ = name; }
  std::string const& found() const { return found_; }

 private:
  std::string key_;
  std::vector<std::uint64_t> names_;  // hashes of the names in all open objects
  std::vector<std::size_t> begins_;
  std::uint64_t repeated_ = 0;
  bool too_large_ = false;
  std::uint64_t wanted_ = 0;
  std::string found_;
};

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

json::parse_options parser_options() {
  json::parse_options o;
  o.max_depth = json_depth_max;
  return o;
}

template <class Handler>
json::error_code validate(std::string_view text, std::size_t& good,
                          json::basic_parser<Handler>& parser) {
  json::error_code ec;
  good = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && trim(text.substr(good)).size() > 0) ec = json::error::extra_data;
  return ec;
}

// REQUIRES: `at` is the position of the opening quote.
std::size_t string_end(std::string_view text, std::size_t at) {
  for (++at; text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

// REQUIRES: `at` is the position of the first character of a value.
std::size_t value_end(std::string_view text, std::size_t at) {
  if (text[at] == '"') return string_end(text, at);
  if (text[at] != '{' && text[at] != '[') {
    auto const end = text.find_first_of(",]} \t\r\n", at);
    return end == std::string_view::npos ? text.size() : end;
  }
  for (std::size_t depth = 0;;) {
    char const c = text[at];
    if (c == '"') {
      at = string_end(text, at);
      continue;
    }
    ++at;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
}

problem repeated_member(std::string_view text, std::uint64_t hash) {
  std::size_t good = 0;
  json::basic_parser<strict_handler> parser(parser_options());
  parser.handler().look_for(hash);
  validate(text, good, parser);
  constexpr std::size_t shown_max = 64;
  auto const name = parser.handler().found().substr(0, shown_max);
  return invalid(name, "this member is repeated in one JSON object; send it once");
}

std::string with_article(json_type t) {
  if (t == json_type::null) return "null";
  bool const vowel = t == json_type::array || t == json_type::object;
  return (vowel ? "an " : "a ") + std::string(name(t));
}

}  // namespace

std::string_view name(json_type t) {
  static constexpr std::string_view names[] = {"null",   "boolean", "number",
                                               "string", "array",   "object"};
  return names[static_cast<std::size_t>(t)];
}

std::optional<problem> check_json(std::string_view text) {
  std::size_t good = 0;
  json::basic_parser<strict_handler> parser(parser_options());
  auto const ec = validate(text, good, parser);
  if (!ec) return {};
  if (trim(text).empty()) return invalid({}, "expected JSON, got an empty body");
  if (auto const repeated = parser.handler().repeated(); repeated != 0)
    return repeated_member(text, repeated);
  std::size_t line = 1, column = 1;
  for (char const c : text.substr(0, good)) {
    ++column;
    if (c == '\n') ++line, column = 1;
  }
  auto const where = " at line " + std::to_string(line) + ", column " + std::to_string(column);
  if (parser.handler().is_too_large())
    return invalid({}, "the number" + where + " is outside the range of a double");
  auto p = invalid({}, "malformed JSON" + where + ": " + ec.message());
  if (ec == json::error::too_deep) p.limit = std::to_string(json_depth_max) + " levels";
  return p;
}

bool is_json(std::string_view text) {
  std::size_t good = 0;
  json::basic_parser<no_handler> parser(parser_options());
  return !validate(text, good, parser);
}

std::string decode_json_string(std::string_view literal) {
  if (literal.find('\\') == std::string_view::npos)
    return std::string(literal.substr(1, literal.size() - 2));
  auto const value = json::parse(json::string_view(literal.data(), literal.size()));
  return std::string(value.get_string().data(), value.get_string().size());
}

json_ref::json_ref(std::string_view text) : text_(trim(text)) {}

json_type json_ref::type() const {
  switch (text_.front()) {
    case 'n':
      return json_type::null;
    case 't':
    case 'f':
      return json_type::boolean;
    case '"':
      return json_type::string;
    case '[':
      return json_type::array;
    case '{':
      return json_type::object;
    default:
      return json_type::number;
  }
}

std::string json_ref::path() const {
  if (!parent_) return {};
  auto const above = parent_->path();
  if (key_.empty()) return above + "[" + std::to_string(index_) + "]";
  return above.empty() ? decode_json_string(key_) : above + "." + decode_json_string(key_);
}

std::string json_ref::string() const {
  return decode_json_string(text_);
}

// JSON Schema accepts 2.0 and 2e0 as integers, and languages without an integer type write such
// numbers. Above 2^53, a double can differ from the written number.
std::optional<std::int64_t> json_ref::integer() const {
  std::int64_t n = 0;
  auto const* const last = text_.data() + text_.size();
  if (auto const [end, ec] = std::from_chars(text_.data(), last, n);
      ec == std::errc{} && end == last)
    return n;
  constexpr double exact_max = 9'007'199'254'740'992.0;
  double real = 0;
  auto const [end, ec] = std::from_chars(text_.data(), last, real);
  bool const whole =
      ec == std::errc{} && end == last && std::abs(real) <= exact_max && real == std::trunc(real);
  // An integer that exceeds 64 bits cannot be represented exactly as a double either.
  bool const written_as_real = text_.find_first_of(".eE") != std::string_view::npos;
  return whole && written_as_real ? std::optional(static_cast<std::int64_t>(real)) : std::nullopt;
}

json_walk::json_walk(json_ref const& of)
    : of_(of),
      rest_(of.text().substr(1)),
      object_(of.text().front() == '{'),
      value_(std::string_view(), &of) {
  value_.index_ = static_cast<std::size_t>(-1);
}

bool json_walk::next() {
  while (blank(rest_.front()) || rest_.front() == ',') rest_.remove_prefix(1);
  if (rest_.front() == '}' || rest_.front() == ']') return false;
  if (object_) {
    auto const end = string_end(rest_, 0);
    value_.key_ = rest_.substr(0, end);
    rest_.remove_prefix(end);
    while (blank(rest_.front()) || rest_.front() == ':') rest_.remove_prefix(1);
  }
  ++value_.index_;
  auto const end = value_end(rest_, 0);
  value_.text_ = rest_.substr(0, end);
  rest_.remove_prefix(end);
  return true;
}

std::string json_walk::key() const {
  return decode_json_string(value_.key_);
}

bool json_check::is(json_ref const& at, json_type wanted) {
  if (at.type() == wanted) return true;
  fail(at, "expected " + with_article(wanted) + ", got " + std::string(name(at.type())));
  return false;
}

std::string json_check::text(json_ref const& at, std::size_t bytes_max) {
  if (!is(at, json_type::string)) return {};
  auto s = at.string();
  if (s.size() <= bytes_max) return s;
  fail(too_many_bytes(at.path(), s, bytes_max));
  return {};
}

bool json_check::flag(json_ref const& at) {
  return is(at, json_type::boolean) && at.boolean();
}

std::int64_t json_check::integer(json_ref const& at, std::int64_t min, std::int64_t max) {
  if (!is(at, json_type::number)) return min;
  auto const n = at.integer();
  if (n && *n >= min && *n <= max) return *n;
  auto const range = std::to_string(min) + " to " + std::to_string(max);
  fail(at, "expected a whole number from " + range, range);
  return min;
}

}  // namespace muster::web
