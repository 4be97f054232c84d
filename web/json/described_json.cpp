#include "web/json/described_json.hpp"

namespace muster::web {

namespace {

constexpr std::size_t name_characters_max = 256;
constexpr std::size_t names_max = 64;

}  // namespace

json_kind<std::vector<std::string>> text_list_kind(std::size_t max) {
  auto read = [max](json_check& check, json_ref const& at) {
    std::vector<std::string> all;
    if (!check.is(at, json_type::array)) return all;
    for (json_walk w(at); w.next() && !check.failed();) all.push_back(check.text(w.value(), max));
    return all;
  };
  return {schema::array(schema::text(0, max)), read};
}

json_kind<core::named_texts> named_texts(std::size_t max, std::uint64_t names) {
  auto read = [max](json_check& check, json_ref const& at) {
    core::named_texts all;
    if (!check.is(at, json_type::object)) return all;
    for (json_walk m(at); m.next() && !check.failed();)
      all.emplace_back(m.key(), check.text(m.value(), max));
    return all;
  };
  auto const values = schema::text(0, max);
  return {names == 0 ? schema::map(values)
                     : schema::map(values, schema::text(1, name_characters_max), names),
          read};
}

json_kind<core::named_amounts> named_amounts() {
  auto const amount = integer_kind(1, UINT32_MAX);
  auto read = [amount](json_check& check, json_ref const& at) {
    core::named_amounts all;
    if (!check.is(at, json_type::object)) return all;
    for (json_walk m(at); m.next() && !check.failed();)
      all.emplace_back(m.key(), static_cast<std::uint32_t>(amount.read(check, m.value())));
    return all;
  };
  return {schema::map(amount.schema, schema::text(1, name_characters_max), names_max), read};
}

}  // namespace muster::web
