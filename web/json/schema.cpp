#include "web/json/schema.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

namespace muster::web::schema {

namespace {

json typed(std::string_view type) {
  return {{"type", type}};
}

}  // namespace

json with(json schema, json const& more) {
  for (auto const& keyword : more) schema.insert(keyword);
  return schema;
}

json described(json schema, std::string_view words) {
  return words.empty() ? schema : with(std::move(schema), {{"description", words}});
}

json any() {
  return {};
}

json bytes() {
  return with(text(), {{"format", "binary"}});
}

json boolean() {
  return typed("boolean");
}

json number() {
  return typed("number");
}

json integer(std::int64_t min, std::uint64_t max) {
  return with(typed("integer"), {{"minimum", min}, {"maximum", max}});
}

json count() {
  return with(typed("integer"), {{"minimum", 0}});
}

json time() {
  return with(count(), {{"format", "unix-ms"}});
}

json text() {
  return typed("string");
}

json text(std::size_t min, std::size_t max) {
  auto const of = min > 0 ? with(text(), {{"minLength", min}}) : text();
  return with(of, {{"maxLength", max}});
}

json matching(std::string_view pattern, std::size_t max) {
  auto of = with(text(), {{"pattern", pattern}});
  return max == 0 ? of : with(std::move(of), {{"maxLength", max}});
}

json duration(bool positive) {
  auto of = matching(positive ? "^(?=.*[1-9])([0-9]+(us|ms|s|m|h|d))+$"
                              : "^(0|([0-9]+(us|ms|s|m|h|d))+)$");
  return described(std::move(of), "30s, 250ms, 1m30s");
}

json id(std::string_view prefix) {
  return matching("^" + std::string(prefix) + "[0-9a-f]{16}$");
}

json one_of(std::span<std::string_view const> values) {
  return with(text(), {{"enum", boost::json::array(values.begin(), values.end())}});
}

json one_of(std::initializer_list<std::string_view> values) {
  return one_of(std::span(values.begin(), values.size()));
}

json array(json items) {
  return with(typed("array"), {{"items", std::move(items)}});
}

json map(json values) {
  return with(typed("object"), {{"additionalProperties", std::move(values)}});
}

json map(json values, json names, std::size_t entries_max) {
  return with(map(std::move(values)),
              {{"propertyNames", std::move(names)}, {"maxProperties", entries_max}});
}

json nullable(json of) {
  return any_of({std::move(of), typed("null")});
}

json any_of(std::vector<json> of) {
  return {{"anyOf", boost::json::array(of.begin(), of.end())}};
}

json ref(std::string_view name) {
  return {{"$ref", "#/components/schemas/" + std::string(name)}};
}

json object(std::vector<member> members) {
  boost::json::array required;
  json properties;
  for (auto& m : members) {
    if (m.required) required.emplace_back(m.name);
    properties.emplace(m.name, std::move(m.schema));
  }
  auto of = with(typed("object"), {{"properties", std::move(properties)}});
  if (!required.empty()) of.emplace("required", std::move(required));
  return of;
}

json closed_object(std::vector<member> members) {
  return with(object(std::move(members)), {{"additionalProperties", false}});
}

}  // namespace muster::web::schema
