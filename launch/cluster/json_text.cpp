// Finds duplicate keys in a second pass over the parsed text.
#include "launch/cluster/json_text.hpp"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/stream_parser.hpp>
#include <optional>
#include <set>
#include <vector>

#include "launch/cluster/resolver_text.hpp"

namespace muster::cluster {
namespace {

struct key_watcher {
  static constexpr auto unlimited = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_object_size = unlimited;
  static constexpr std::size_t max_array_size = unlimited;
  static constexpr std::size_t max_key_size = unlimited;
  static constexpr std::size_t max_string_size = unlimited;

  std::vector<std::set<std::string, std::less<>>> open;
  std::string key;
  std::optional<std::string> twice;

  using error_code = boost::json::error_code;
  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    open.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    open.pop_back();
    return true;
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    key.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code&) {
    key.append(part.data(), part.size());
    if (!open.back().insert(key).second && !twice) twice = key;
    key.clear();
    return true;
  }
  bool on_string_part(json::string_view, std::size_t, error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, error_code&) { return true; }
  bool on_double(double, json::string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }
};

std::optional<std::string> key_that_is_there_twice(std::string_view text) {
  json::basic_parser<key_watcher> watcher{json::parse_options{}};
  json::error_code error;
  watcher.write_some(false, text.data(), text.size(), error);
  return std::move(watcher.handler().twice);
}

std::string place_of(std::string_view text, std::size_t at) {
  auto const before = text.substr(0, at);
  auto const line = 1 + std::count(before.begin(), before.end(), '\n');
  auto const last = before.rfind('\n');
  auto const column = 1 + (last == std::string_view::npos ? at : at - last - 1);
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace

json::value parse_json(std::string_view text, std::string const& origin) {
  if (text.size() > json_bytes_max)
    throw invalid(origin + ": " + std::to_string(text.size()) + " bytes, the limit is " +
                  std::to_string(json_bytes_max));
  if (trimmed(text).empty()) throw invalid(origin + ": empty; it must be JSON");
  json::stream_parser parser;
  json::error_code error;
  auto const at = parser.write_some(text.data(), text.size(), error);
  if (!error && !trimmed(text.substr(at)).empty())
    throw invalid(origin + ": not JSON at " + place_of(text, at) + ": text after the JSON value");
  if (!error) parser.finish(error);
  if (error) throw invalid(origin + ": not JSON at " + place_of(text, at) + ": " + error.message());
  if (auto const twice = key_that_is_there_twice(text))
    throw invalid(origin + ": the key " + quoted(*twice) + " occurs twice in one object");
  return parser.release();
}

std::string_view kind_name(json::value const& v) {
  switch (v.kind()) {
    case json::kind::object:
      return "an object";
    case json::kind::array:
      return "a list";
    case json::kind::string:
      return "a string";
    case json::kind::bool_:
      return "true or false";
    case json::kind::null:
      return "null";
    default:
      return "a number";
  }
}

}  // namespace muster::cluster
