#include "web/json/json_fields.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace muster::web {

namespace {

constexpr std::size_t duration_characters_max = 64, word_characters_max = 1'024;

bool is_control(char c) {
  auto const code = static_cast<unsigned char>(c);
  return code < 0x20 || code == 0x7f;
}

// Returns 422, because the duration itself is well-formed.
problem too_long(json_ref const& at, core::duration longest) {
  auto const hours = longest / std::chrono::hours(1);
  auto const limit = hours % 24 == 0 ? std::to_string(hours / 24) + " days"
                     : hours > 1     ? std::to_string(hours) + " hours"
                                     : std::string("1 hour");
  return impossible(at.path(), "must not be longer than " + limit, limit);
}

}  // namespace

json_kind<bool> flag_kind() {
  return {schema::boolean(), [](json_check& check, json_ref const& at) { return check.flag(at); }};
}

json_kind<std::int64_t> integer_kind(std::int64_t min, std::int64_t max) {
  return {
      schema::integer(min, static_cast<std::uint64_t>(max)),
      [min, max](json_check& check, json_ref const& at) { return check.integer(at, min, max); }};
}

json_kind<std::string> text_kind(std::size_t max) {
  return {schema::text(0, max),
          [max](json_check& check, json_ref const& at) { return check.text(at, max); }};
}

json_kind<std::string> a_function(std::string_view missing) {
  auto read = [missing](json_check& check, json_ref const& at) {
    auto name = check.text(at, function_characters_max);
    if (name.empty() && !check.failed()) check.fail(at, std::string(missing));
    if (std::any_of(name.begin(), name.end(), is_control))
      check.fail(at, "the name contains a control character");
    return name;
  };
  return {schema::with(schema::text(1, function_characters_max),
                       {{"pattern", R"(^[^\u0000-\u001f\u007f]*$)"}}),
          read, missing};
}

json_kind<core::duration> duration_kind(core::duration longest, bool positive) {
  auto read = [longest, positive](json_check& check, json_ref const& at) -> core::duration {
    auto const text = check.text(at, duration_characters_max);
    if (check.failed()) return {};
    auto const d = parse_duration(text);
    if (!d && !is_duration(text))
      check.fail(at, "expected a duration such as 30s or 250ms, got '" + text + "'");
    if (d && positive && *d == core::duration{}) check.fail(at, "must be positive");
    if (!d || *d > longest) check.fail(too_long(at, longest));
    return d.value_or(std::chrono::microseconds(0));
  };
  return {schema::with(schema::duration(positive), {{"maxLength", duration_characters_max}}), read};
}

json_kind<std::string> an_object_text(std::size_t max) {
  auto read = [max](json_check& check, json_ref const& at) {
    auto const limit = std::to_string(max) + " bytes";
    if (check.is(at, json_type::object) && at.text().size() > max)
      check.fail(impossible(
          at.path(), "has " + std::to_string(at.text().size()) + " bytes, the limit is " + limit,
          limit));
    return std::string(at.text());
  };
  return {schema::map(schema::any()), read};
}

json_kind<std::size_t> one_of_words(std::span<std::string_view const> words) {
  auto read = [words](json_check& check, json_ref const& at) -> std::size_t {
    auto const word = check.text(at, word_characters_max);
    auto const found = std::find(words.begin(), words.end(), word);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    std::string expected;
    for (auto const& w : words)
      expected += std::string(expected.empty() ? "" : &w == &words.back() ? " or " : ", ") += w;
    if (!check.failed()) check.fail(at, "expected " + expected + ", got '" + word + "'");
    return 0;
  };
  return {schema::one_of(words), read};
}

json_kind<std::optional<json_ref>> kept(schema::json schema, std::string_view missing) {
  return {std::move(schema),
          [](json_check&, json_ref const& at) { return std::optional<json_ref>(at); }, missing};
}

}  // namespace muster::web
