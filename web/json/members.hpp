// Defines the members of a response object once, for its JSON and for its schema in /openapi.json.
// `members(m, view)` lists the members in the order in which they are written.
//
// To build the schema, `members` runs on empty views. It must therefore list every member and use
// `some` or `when` for optional members. Pure functions.
#pragma once

#include <initializer_list>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "server/core/api/programs.hpp"
#include "server/core/api/time.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/json/json_out.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

/// If empty, the view's schema is written inline.
template <class View>
inline constexpr std::string_view schema_name = {};

struct value_id {
  core::closure_id closure{};
  void write(json_out& out) const { out.string(server::value_text(closure)); }
  static schema::json schema() { return schema::id("rv_"); }
};
inline constexpr auto as_value_id = [](core::closure_id c) { return value_id{c}; };

struct optional_ms {
  std::optional<std::int64_t> ms;
  void write(json_out& out) const { ms ? out.number(*ms) : out.null(); }
  static schema::json schema() { return schema::nullable(schema::count()); }
};

class member_list;

template <class V>
void write_value_of(json_out& out, V const& value);
template <class V>
schema::json schema_of_value();

class member_list {
 public:
  explicit member_list(json_out& out) : out_(&out) {}
  /// REQUIRES: `told` outlives the list.
  explicit member_list(std::vector<schema::member>& told) : schema_members_(&told) {}

  /// Returns a list whose members are optional and are written only if `there` is true.
  member_list when(bool there) const {
    auto list = *this;
    list.there_ = there_ && there;
    list.required_ = false;
    return list;
  }

  /// Writes a number, boolean, string, ID, view, list, or map from names to such values. States are
  /// written by name, times and durations in milliseconds.
  template <class V>
  void operator()(std::string_view name, V const& value, std::string_view words = {}) const {
    if (schema_members_) return tell(name, &schema_of_value<V>, words);
    if (there_) write_value_of(out_->key(name), value);
  }
  /// Omits the member if its value is empty, zero, false or null.
  template <class V>
  void some(std::string_view name, V const& value, std::string_view words = {}) const {
    when(!is_none(value))(name, value, words);
  }
  void word(std::string_view name, std::string_view value,
            std::initializer_list<std::string_view> words) const {
    if (schema_members_)
      return schema_members_->push_back({name, schema::one_of(words), required_});
    if (there_) out_->key(name).string(value);
  }
  template <class Write>
  void json(std::string_view name, schema::json (*schema)(), Write const& write,
            std::string_view words = {}) const {
    if (schema_members_) return tell(name, schema, words);
    if (there_) write(out_->key(name));
  }
  template <class Say>
  void object(std::string_view name, Say const& say, std::string_view words = {}) const {
    if (schema_members_)
      return schema_members_->push_back(
          {name, schema::described(object_schema(say), words), required_});
    if (!there_) return;
    auto const object = out_->key(name).object();
    say(member_list(*out_));
  }
  /// Writes the object with `say(list, *maybe)`. Omits the member if there is no object.
  template <class Maybe, class Say>
  void some_object(std::string_view name, Maybe const& maybe, Say const& say,
                   std::string_view words = {}) const {
    std::remove_cvref_t<decltype(*maybe)> const none{};
    auto const& held = maybe ? *maybe : none;
    when(!is_none(maybe))
        .object(
            name, [&](member_list const& of) { say(of, held); }, words);
  }
  /// `each(element)` returns a value, or `each(list, element)` writes the members of an object.
  template <class Range, class Each>
  void list(std::string_view name, Range const& range, Each const& each,
            std::string_view words = {}) const {
    using element = std::ranges::range_value_t<Range>;
    constexpr bool objects = std::is_invocable_v<Each const&, member_list const&, element const&>;
    if (schema_members_) {
      schema::json items;
      if constexpr (objects)
        items = object_schema([&each](member_list const& of) { each(of, element{}); });
      else
        items = schema_of_value<std::decay_t<std::invoke_result_t<Each const&, element const&>>>();
      return schema_members_->push_back(
          {name, schema::described(schema::array(std::move(items)), words), required_});
    }
    if (!there_) return;
    out_->key(name).begin_array();
    for (auto const& one : range) {
      if constexpr (objects) {
        auto const object = out_->object();
        each(member_list(*out_), one);
      } else {
        write_value_of(*out_, each(one));
      }
    }
    out_->end_array();
  }

  template <class Say>
  static schema::json object_schema(Say const& say) {
    std::vector<schema::member> told;
    say(member_list(told));
    return schema::object(std::move(told));
  }

 private:
  template <class V>
  static bool is_none(V const& value) {
    if constexpr (requires { value.empty(); })
      return value.empty();
    else if constexpr (requires { *value; })
      return !value;
    else
      return value == V{};
  }
  void tell(std::string_view name, schema::json (*schema)(), std::string_view words) const {
    schema_members_->push_back({name, schema::described(schema(), words), required_});
  }

  json_out* out_ = nullptr;
  std::vector<schema::member>* schema_members_ = nullptr;
  bool there_ = true;
  bool required_ = true;
};

template <class View, class... More>
requires requires(member_list m, View const& v, More const&... more) {
  members(m, v, more...);
}
void write(json_out& out, View const& view, More const&... more) {
  auto const object = out.object();
  members(member_list(out), view, more...);
}

/// object_line() adds a line break.
template <class Say>
std::string object_text(Say const& say) {
  return json_text([&say](json_out& out) {
    auto const object = out.object();
    say(member_list(out));
  });
}
template <class Say>
std::string object_line(Say const& say) {
  return object_text(say) += '\n';
}

template <class... View>
schema::json schema_of() {
  return member_list::object_schema([](member_list const& m) { members(m, View{}...); });
}
template <class... View>
schema::json schema_of_call(void (*say)(member_list const&, View...)) {
  return member_list::object_schema(
      [say](member_list const& m) { say(m, std::remove_cvref_t<View>{}...); });
}
template <auto say>
schema::json schema_of_members() {
  return schema_of_call(say);
}

inline schema::json page_schema(std::string_view name, std::string_view of) {
  return schema::object({{name, schema::array(schema::ref(of))},
                         {"next_page_token", schema::text(), schema::optional}});
}

template <class V>
inline constexpr bool is_named_pair = false;
template <class Text, class V>
inline constexpr bool is_named_pair<std::pair<Text, V>> = true;

template <class V>
void write_value_of(json_out& out, V const& value) {
  if constexpr (std::is_same_v<V, bool>) {
    out.boolean(value);
  } else if constexpr (std::is_arithmetic_v<V>) {
    out.number(value);
  } else if constexpr (std::is_convertible_v<V const&, std::string_view>) {
    out.string(value);
  } else if constexpr (std::is_same_v<V, core::time_point>) {
    out.number(core::to_unix_ms(value));
  } else if constexpr (std::is_convertible_v<V, core::duration>) {
    out.number(std::chrono::duration_cast<std::chrono::milliseconds>(value).count());
  } else if constexpr (requires { core::text(value); }) {
    out.string(core::text(value));
  } else if constexpr (std::is_enum_v<V>) {
    out.string(name(value));
  } else if constexpr (requires { value.write(out); }) {
    value.write(out);
  } else if constexpr (std::ranges::range<V>) {
    constexpr bool named = is_named_pair<std::ranges::range_value_t<V>>;
    named ? out.begin_object() : out.begin_array();
    for (auto const& one : value) {
      if constexpr (named)
        write_value_of(out.key(one.first), one.second);
      else
        write_value_of(out, one);
    }
    named ? out.end_object() : out.end_array();
  } else if constexpr (requires { *value; }) {
    write_value_of(out, *value);
  } else {
    write(out, value);
  }
}

template <class V>
schema::json schema_of_value() {
  if constexpr (std::is_same_v<V, bool>) {
    return schema::boolean();
  } else if constexpr (std::is_floating_point_v<V>) {
    return schema::number();
  } else if constexpr (std::is_arithmetic_v<V> || std::is_convertible_v<V, core::duration>) {
    return schema::count();
  } else if constexpr (std::is_convertible_v<V const&, std::string_view>) {
    return schema::text();
  } else if constexpr (std::is_same_v<V, core::time_point>) {
    return schema::time();
  } else if constexpr (std::is_same_v<V, core::session_id>) {
    return schema::id("job_");
  } else if constexpr (std::is_same_v<V, core::closure_id>) {
    return schema::id("cl_");
  } else if constexpr (std::is_same_v<V, core::program_id>) {
    return schema::id("prog_");
  } else if constexpr (std::is_same_v<V, core::per_worker_id>) {
    return schema::id("pw_");
  } else if constexpr (std::is_same_v<V, core::object_id>) {
    return schema::id("obj_");
  } else if constexpr (std::is_same_v<V, core::dataset_id>) {
    return schema::id("ds_");
  } else if constexpr (std::is_enum_v<V>) {
    return schema::one_of(all_names<V>());
  } else if constexpr (requires(V const& v, json_out& out) { v.write(out); }) {
    return V::schema();
  } else if constexpr (std::ranges::range<V>) {
    using element = std::ranges::range_value_t<V>;
    if constexpr (is_named_pair<element>)
      return schema::map(schema_of_value<typename element::second_type>());
    else
      return schema::array(schema_of_value<element>());
  } else if constexpr (requires(V const& v) { *v; }) {
    return schema_of_value<std::remove_cvref_t<decltype(*std::declval<V const&>())>>();
  } else {
    return schema_name<V>.empty() ? schema_of<V>() : schema::ref(schema_name<V>);
  }
}

}  // namespace muster::web
