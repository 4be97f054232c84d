// Copies the JSON text instead of parsing it, so that numbers are returned unchanged.
#include <boost/json.hpp>

#include "client/functions/bundled_functions.hpp"
#include "muster/function_error.hpp"

namespace muster {
namespace {

constexpr std::string_view whitespace = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  auto const first = text.find_first_not_of(whitespace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(whitespace) - first + 1);
}

// `inside` is the text between the brackets. Counts commas outside strings and nested brackets.
std::size_t count_elements(std::string_view inside) {
  if (trimmed(inside).empty()) return 0;
  std::size_t count = 1;
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    char const c = inside[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      ++count;
    }
  }
  return count;
}

void echo_object(value_view args, value& result) {
  auto const parsed = from_json(args);
  auto const* object = parsed.if_object();
  auto const* list = object ? object->if_contains("args") : nullptr;
  auto const* keywords = object ? object->if_contains("kwargs") : nullptr;
  if (!list || !list->is_array() ||
      (keywords && (!keywords->is_object() || !keywords->get_object().empty())))
    throw function_error(failure_kind::input, "muster.echo accepts only positional arguments");
  auto const& values = list->get_array();
  result.bytes =
      values.size() == 1 ? boost::json::serialize(values[0]) : boost::json::serialize(values);
}

}  // namespace

void echo(context&, value_view args, value& result) {
  result.encoding = args.encoding;
  if (args.encoding == encoding::bytes) {
    result.bytes = args.bytes;
    return;
  }
  auto const text = trimmed(args.bytes);
  if (!text.starts_with('[') || !text.ends_with(']') || text.size() < 2)
    return echo_object(args, result);
  auto const inside = text.substr(1, text.size() - 2);
  result.bytes = count_elements(inside) == 1 ? trimmed(inside) : text;
}

}  // namespace muster
