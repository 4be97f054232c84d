// Keywords of JSON Schema, with a function per type.
#include "tests/web/contract/json_schema.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

namespace muster::web::test {

namespace {

constexpr std::string_view known_keywords[] = {
    "$ref",      "type",        "enum",         "const",    "anyOf",    "not",
    "required",  "properties",  "items",        "minItems", "maxItems", "additionalProperties",
    "minLength", "maxLength",   "pattern",      "minimum",  "maximum",  "propertyNames",
    "format",    "description", "maxProperties"};

bool matches(std::string const& text, std::string const& pattern) {
  static std::map<std::string, std::regex> compiled;
  auto const [at, added] = compiled.try_emplace(pattern);
  if (added) at->second = std::regex(pattern, std::regex::ECMAScript);
  return std::regex_search(text, at->second);
}

bool is_integral(json::value const& v) {
  return v.is_int64() || v.is_uint64() ||
         (v.is_double() && std::floor(v.get_double()) == v.get_double());
}

bool is_of(json::value const& v, std::string_view type) {
  if (type == "null") return v.is_null();
  if (type == "boolean") return v.is_bool();
  if (type == "integer") return is_integral(v);
  if (type == "number") return v.is_number();
  if (type == "string") return v.is_string();
  if (type == "array") return v.is_array();
  return type == "object" && v.is_object();
}

std::string misplaced(std::string const& at, std::string const& why, json::value const& v) {
  return (at.empty() ? "the value" : at) + " " + why + ": " + json::serialize(v).substr(0, 200);
}

}  // namespace

std::size_t characters(std::string_view text) {
  auto const begins = [](char c) { return (c & 0xc0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

json::value const& json_schema::resolved(json::value const& schema) const {
  auto const* to = schema.is_object() ? schema.get_object().if_contains("$ref") : nullptr;
  if (!to) return schema;
  return resolved(document_.at_pointer(std::string_view(to->get_string()).substr(1)));
}

std::string json_schema::misfit(json::value const& schema, json::value const& v,
                                std::string const& at) {
  auto const& s = resolved(schema).as_object();
  for (auto const& [keyword, unused] : s)
    if (std::ranges::find(known_keywords, std::string_view(keyword)) == std::end(known_keywords))
      return "the schema has the unknown keyword " + std::string(keyword);
  if (auto why = by_type(s, v, at); !why.empty()) return why;
  return by_combination(s, v, at);
}

std::string json_schema::by_combination(json::object const& s, json::value const& v,
                                        std::string const& at) {
  if (auto const* values = s.if_contains("enum"))
    if (std::ranges::find(values->get_array(), v) == values->get_array().end())
      return misplaced(at, "is none of " + json::serialize(*values), v);
  if (auto const* one = s.if_contains("const"); one && *one != v)
    return misplaced(at, "is not " + json::serialize(*one), v);
  if (auto const* unwanted = s.if_contains("not"); unwanted && misfit(*unwanted, v, at).empty())
    return misplaced(at, "is " + json::serialize(*unwanted), v);
  auto const* any = s.if_contains("anyOf");
  if (!any) return {};
  std::string reasons;
  for (auto const& one : any->get_array()) {
    auto why = misfit(one, v, at);
    if (why.empty()) return {};
    reasons += "\n  " + why;
  }
  return misplaced(at, "fits none of" + reasons + "\n ", v);
}

std::string json_schema::by_type(json::object const& s, json::value const& v,
                                 std::string const& at) {
  if (auto const* type = s.if_contains("type")) {
    bool const fits =
        type->is_array()
            ? std::ranges::any_of(type->get_array(),
                                  [&](auto const& t) { return is_of(v, t.get_string()); })
            : is_of(v, type->get_string());
    if (!fits) return misplaced(at, "is not of type " + json::serialize(*type), v);
  }
  if (v.is_object()) return object(s, v.get_object(), at);
  if (v.is_array()) return array(s, v.get_array(), at);
  if (v.is_string()) return text(s, std::string(v.get_string()), at);
  if (v.is_number()) return number(s, v, at);
  return {};
}

std::string json_schema::object(json::object const& s, json::object const& v,
                                std::string const& at) {
  if (auto const* names = s.if_contains("required"))
    for (auto const& name : names->get_array())
      if (!v.contains(name.get_string()))
        return misplaced(at, "lacks " + std::string(name.get_string()), v);
  if (auto const* max = s.if_contains("maxProperties"))
    if (v.size() > max->to_number<std::size_t>()) return misplaced(at, "has too many members", v);
  auto const* properties = s.if_contains("properties");
  auto const* more = s.if_contains("additionalProperties");
  auto const* names = s.if_contains("propertyNames");
  for (auto const& [key, value] : v) {
    auto const inside = at + "/" + std::string(key);
    if (names)
      if (auto why = misfit(*names, json::value(key), inside + " as a name"); !why.empty())
        return why;
    auto const* known = properties ? properties->get_object().if_contains(key) : nullptr;
    if (known) seen.insert(known);
    if (known || (more && more->is_object())) {
      if (auto why = misfit(known ? *known : *more, value, inside); !why.empty()) return why;
    } else if ((more && *more == false) || (strict && properties)) {
      return misplaced(inside, "is in no schema", value);
    }
  }
  return {};
}

std::string json_schema::array(json::object const& s, json::array const& v, std::string const& at) {
  if (auto const* min = s.if_contains("minItems"))
    if (v.size() < min->to_number<std::size_t>()) return misplaced(at, "has too few items", v);
  if (auto const* max = s.if_contains("maxItems"))
    if (v.size() > max->to_number<std::size_t>()) return misplaced(at, "has too many items", v);
  auto const* items = s.if_contains("items");
  for (std::size_t i = 0; items && i < v.size(); ++i)
    if (auto why = misfit(*items, v[i], at + "/" + std::to_string(i)); !why.empty()) return why;
  return {};
}

std::string json_schema::text(json::object const& s, std::string const& v, std::string const& at) {
  if (auto const* min = s.if_contains("minLength"))
    if (characters(v) < min->to_number<std::size_t>())
      return misplaced(at, "is too short", json::value(v));
  if (auto const* max = s.if_contains("maxLength"))
    if (characters(v) > max->to_number<std::size_t>())
      return misplaced(at, "is too long", json::value(v));
  if (auto const* pattern = s.if_contains("pattern"))
    if (!matches(v, std::string(pattern->get_string())))
      return misplaced(at, "does not match " + json::serialize(*pattern), json::value(v));
  return {};
}

std::string json_schema::number(json::object const& s, json::value const& v,
                                std::string const& at) {
  auto const n = v.to_number<double>();
  if (auto const* min = s.if_contains("minimum"))
    if (n < min->to_number<double>()) return misplaced(at, "is too small", v);
  if (auto const* max = s.if_contains("maximum"))
    if (n > max->to_number<double>()) return misplaced(at, "is too large", v);
  return {};
}

}  // namespace muster::web::test
