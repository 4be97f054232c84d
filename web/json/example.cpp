#include "web/json/example.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster::web::schema {

namespace {

namespace bj = boost::json;

constexpr std::string_view reference = "#/components/schemas/";

using pair = std::pair<std::string_view, std::string_view>;

constexpr pair by_name[] = {{"name", "train"},      {"function", "muster.echo"},
                            {"cluster", "default"}, {"host", "host-a"},
                            {"job", "worker"},      {"worker", "worker:0"},
                            {"task", "worker:0"},   {"key", "learning_rate"},
                            {"type", "ValueError"}, {"message", "no such file"},
                            {"title", "Not found"}, {"text", "step 10: loss 0.25"},
                            {"command", "python"},  {"class", "Counter"},
                            {"version", "0.1.0"},   {"address", "127.0.0.1:8476"},
                            {"file", "train.py"}};

constexpr pair by_pattern[] = {
    {"^(0|([0-9]+(us|ms|s|m|h|d))+)$", "30s"},
    {"^(?=.*[1-9])([0-9]+(us|ms|s|m|h|d))+$", "30s"},
    {"^[0-9a-f]{64}$", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"},
    {"^[0-9a-f]{16}$", "0000000000000001"},
    {"^[0-9]{1,20}$", "1"},
    {"[^/]", "learning_rate"},
    {"^([A-Za-z0-9+/_-]{4})*([A-Za-z0-9+/_-]{2}(==)?|[A-Za-z0-9+/_-]{3}=?)?$", "aGVsbG8="},
    {"^[A-Za-z0-9_.-]{1,128}$", "train"},
    {"^[^,]+:[0-9]{1,18}(,[^,]+:[0-9]{1,18})*,?$", "worker:0"},
    {"^[\\s\\S]+:[0-9]{1,18}$", "worker:0"},
    {"^(?:[^:]+|[\\s\\S]+:[0-9]{1,18})$", "worker:0"},
    {"^(rv_[0-9a-f]{16}|#[0-9]{1,9})$", "rv_0000000000000001"}};

std::string_view found_in(std::span<pair const> all, std::string_view key) {
  auto const it = std::ranges::find(all, key, &pair::first);
  return it == all.end() ? std::string_view() : it->second;
}

std::string_view text_of(json const& of, std::string_view keyword) {
  auto const* v = of.if_contains(keyword);
  auto const* s = v ? v->if_string() : nullptr;
  return s ? std::string_view(*s) : std::string_view();
}

std::int64_t number_of(json const& of, std::string_view keyword, std::int64_t fallback) {
  auto const* v = of.if_contains(keyword);
  boost::system::error_code ec;
  auto const n = v ? v->to_number<std::int64_t>(ec) : fallback;
  return ec ? fallback : n;
}

std::string text_example(json const& of, std::string_view name) {
  constexpr std::string_view digits = "[0-9a-f]{16}$";
  auto pattern = text_of(of, "pattern");
  if (auto const known = found_in(by_pattern, pattern); !known.empty()) return std::string(known);
  if (pattern.starts_with("^") && pattern.ends_with(digits) && pattern[1] != '(')
    return std::string(pattern.substr(1, pattern.size() - 1 - digits.size())) + "0000000000000001";
  if (pattern.ends_with("?$") || pattern.ends_with(")*$")) return {};
  auto const known = found_in(by_name, name);
  std::string text(known.empty() ? "text" : known);
  auto const most = static_cast<std::size_t>(number_of(of, "maxLength", 1'000));
  return text.substr(0, most);
}

class maker {
 public:
  explicit maker(named_schemas const& all) : all_(all) {}

  /// Returns nothing for a recursive schema.
  std::optional<bj::value> make(json const& of, std::string_view name) {
    if (auto const to = text_of(of, "$ref"); !to.empty()) return referred(to, name);
    if (auto const* any = of.if_contains("anyOf")) return first_of(any->as_array(), name);
    if (auto const* words = of.if_contains("enum")) return words->as_array().at(0);
    auto const type = text_of(of, "type");
    if (type == "string") return bj::value(bj::string(text_example(of, name)));
    if (type == "integer") {
      if (text_of(of, "format") == "unix-ms") return bj::value(1'764'370'800'000);
      auto const least = number_of(of, "minimum", 0), most = number_of(of, "maximum", INT64_MAX);
      return bj::value(std::clamp<std::int64_t>(1, least, std::max(least, most)));
    }
    if (type == "number") return bj::value(0.5);
    if (type == "boolean") return bj::value(false);
    if (type == "array") return array(of, name);
    if (type == "object") return object(of);
    if (type == "null") return bj::value(nullptr);
    return bj::value(42);
  }

 private:
  std::optional<bj::value> referred(std::string_view to, std::string_view name) {
    to.remove_prefix(reference.size());
    if (std::ranges::find(open_, to) != open_.end()) return std::nullopt;
    open_.push_back(to);
    auto made = make(all_.at(to), name);
    open_.pop_back();
    return made;
  }

  std::optional<bj::value> first_of(bj::array const& all, std::string_view name) {
    for (auto const& one : all)
      if (auto made = make(one.as_object(), name)) return made;
    return std::nullopt;
  }

  bj::value array(json const& of, std::string_view name) {
    bj::array all;
    if (auto const* items = of.if_contains("items"))
      if (auto one = make(items->as_object(), name)) all.push_back(std::move(*one));
    return all;
  }

  bj::value object(json const& of) {
    bj::object all;
    if (auto const* members = of.if_contains("properties"))
      for (auto const& [name, schema] : members->as_object())
        if (auto one = make(schema.as_object(), name)) all.emplace(name, std::move(*one));
    auto const* others = of.if_contains("additionalProperties");
    auto const* values = others ? others->if_object() : nullptr;
    if (!values || !all.empty()) return all;
    auto const* names = of.if_contains("propertyNames");
    bool const formed = names && names->as_object().contains("type");
    auto const key = formed ? text_example(names->as_object(), "job") : std::string("key");
    if (auto one = make(*values, key)) all.emplace(key, std::move(*one));
    return all;
  }

  named_schemas const& all_;
  std::vector<std::string_view> open_;
};

}  // namespace

bj::value example_of(json const& of, named_schemas const& all, std::string_view name) {
  return maker(all).make(of, name).value_or(nullptr);
}

}  // namespace muster::web::schema
