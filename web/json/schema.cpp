// The keywords of JSON Schema, each written once.
#include "web/json/schema.hpp"

#include "web/json/json_out.hpp"

namespace muster::web::schema {

namespace {

std::string typed(std::string_view type) {
  return "{\"type\":\"" + std::string(type) + "\"}";
}

std::string quoted(std::string_view text) {
  std::string to;
  append_json_string(to, text);
  return to;
}

std::string list(std::string_view keyword, std::span<std::string const> items) {
  auto text = quoted(keyword) + ":[";
  for (auto const& item : items) text += (&item == items.data() ? "" : ",") + item;
  return text + "]";
}

}  // namespace

std::string with(std::string const& schema, std::string_view members) {
  auto open = schema.substr(0, schema.size() - 1);
  if (open != "{") open += ',';
  return open + std::string(members) + "}";
}

std::string described(std::string const& schema, std::string_view words) {
  return words.empty() ? schema : with(schema, "\"description\":" + quoted(words));
}

std::string any() {
  return "{}";
}

std::string bytes() {
  return with(typed("string"), R"("format":"binary")");
}

std::string boolean() {
  return typed("boolean");
}

std::string number() {
  return typed("number");
}

std::string integer(std::int64_t min, std::uint64_t max) {
  return with(typed("integer"),
              "\"minimum\":" + std::to_string(min) + ",\"maximum\":" + std::to_string(max));
}

std::string count() {
  return with(typed("integer"), "\"minimum\":0");
}

std::string time() {
  return with(count(), "\"format\":\"unix-ms\"");
}

std::string text() {
  return typed("string");
}

std::string text(std::size_t min, std::size_t max) {
  auto const least = min > 0 ? "\"minLength\":" + std::to_string(min) + "," : std::string();
  return with(text(), least + "\"maxLength\":" + std::to_string(max));
}

std::string matching(std::string_view pattern, std::size_t max) {
  auto const of = with(text(), "\"pattern\":" + quoted(pattern));
  return max == 0 ? of : with(of, "\"maxLength\":" + std::to_string(max));
}

std::string duration(bool positive) {
  auto const of = matching(positive ? "^(?=.*[1-9])([0-9]+(us|ms|s|m|h|d))+$"
                                    : "^(0|([0-9]+(us|ms|s|m|h|d))+)$");
  return described(of, "30s, 250ms, 1m30s");
}

std::string id(std::string_view prefix) {
  return matching("^" + std::string(prefix) + "[0-9a-f]{16}$");
}

std::string one_of(std::span<std::string_view const> values) {
  std::vector<std::string> items;
  for (auto const v : values) items.push_back(quoted(v));
  return with(text(), list("enum", items));
}

std::string one_of(std::initializer_list<std::string_view> values) {
  return one_of(std::span(values.begin(), values.size()));
}

std::string array(std::string const& items) {
  return with(typed("array"), "\"items\":" + items);
}

std::string map(std::string const& values) {
  return with(typed("object"), "\"additionalProperties\":" + values);
}

std::string map(std::string const& values, std::string const& names, std::size_t entries_max) {
  return with(map(values),
              "\"propertyNames\":" + names + ",\"maxProperties\":" + std::to_string(entries_max));
}

std::string nullable(std::string const& of) {
  return any_of({of, typed("null")});
}

std::string any_of(std::vector<std::string> const& of) {
  return "{" + list("anyOf", of) + "}";
}

std::string ref(std::string_view name) {
  return "{\"$ref\":\"#/components/schemas/" + std::string(name) + "\"}";
}

std::string object(std::vector<member> const& members) {
  std::vector<std::string> required;
  std::string properties;
  for (auto const& m : members) {
    properties += (properties.empty() ? "" : ",") + quoted(m.name) + ":" + m.schema;
    if (m.required) required.push_back(quoted(m.name));
  }
  auto const of = with(typed("object"), "\"properties\":{" + properties + "}");
  return required.empty() ? of : with(of, list("required", required));
}

std::string closed_object(std::vector<member> const& members) {
  return with(object(members), "\"additionalProperties\":false");
}

}  // namespace muster::web::schema
