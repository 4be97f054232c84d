// Describes a request body: name, schema and reader of each member. Each limit is defined once, for
// the reader, its error messages and /openapi.json. The tables are read-only and therefore
// thread-safe.
//
// A body that does not match the schema is answered with 400. An impossible value that matches is
// answered with 422, for example a string with too many bytes but few characters.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/time.hpp"
#include "web/json/json_in.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

template <class V>
struct json_kind {
  web::schema::json schema;
  std::function<V(json_check&, json_ref const&)> read;
  std::string_view missing = {};
};

json_kind<bool> flag_kind();
json_kind<std::int64_t> integer_kind(std::int64_t min, std::int64_t max);
/// Accepts at most `max` characters and `max` bytes.
json_kind<std::string> text_kind(std::size_t max);
/// Accepts 1 to 256 characters without control characters. `missing` is the error message for a
/// missing or empty name.
json_kind<std::string> a_function(std::string_view missing = "required: a function name");
/// The core has the same limit in bytes.
inline constexpr std::size_t function_characters_max = 256;
/// Reads a duration such as "30s"; answers with 422 if it exceeds `longest`. `positive` also
/// rejects 0.
json_kind<core::duration> duration_kind(core::duration longest, bool positive = false);
/// Returns the unchanged text of a JSON object of at most `max` bytes.
json_kind<std::string> an_object_text(std::size_t max);
json_kind<std::size_t> one_of_words(std::span<std::string_view const> words);
template <named_enum E>
json_kind<E> enum_kind() {
  static constexpr auto words = all_names<E>();
  auto kind = one_of_words(words);
  return {std::move(kind.schema),
          [read = std::move(kind.read)](json_check& check, json_ref const& at) {
            return static_cast<E>(read(check, at));
          }};
}
/// Keeps the value unparsed, for a reader that needs other members first.
json_kind<std::optional<json_ref>> kept(schema::json schema, std::string_view missing = {});

template <class T>
struct json_field {
  std::string_view name;
  web::schema::json schema;
  std::function<void(json_check&, json_ref const&, T&)> read;
  std::string_view missing = {};  // error message if missing
};

template <class T, class M, class V>
json_field<T> field(std::string_view name, M T::*to, json_kind<V> kind) {
  return {name, std::move(kind.schema),
          [to, read = std::move(kind.read)](json_check& check, json_ref const& at, T& into) {
            into.*to = static_cast<M>(read(check, at));
          }};
}

template <class T, class M, class V>
json_field<T> required(std::string_view name, M T::*to, json_kind<V> kind) {
  auto const words = kind.missing;
  auto f = field(name, to, std::move(kind));
  f.missing = words;
  return f;
}

template <class Outer, class T>
json_field<Outer> nested(T Outer::*member, json_field<T> f) {
  return {f.name, std::move(f.schema),
          [member, read = std::move(f.read)](json_check& check, json_ref const& at, Outer& into) {
            read(check, at, into.*member);
          },
          f.missing};
}

template <class T>
class json_object {
 public:
  explicit json_object(std::vector<json_field<T>> fields, web::schema::json const& rules = {})
      : fields_(std::move(fields)) {
    std::vector<web::schema::member> members;
    for (auto const& f : fields_) members.push_back({f.name, f.schema, !f.missing.empty()});
    schema_ = web::schema::with(web::schema::closed_object(std::move(members)), rules);
  }

  web::schema::json const& schema() const { return schema_; }

  /// Rejects members that the table does not contain. If a name is repeated, the last member is
  /// used.
  void read(json_check& check, json_ref const& object, T& into) const {
    if (!check.is(object, json_type::object)) return;
    std::uint64_t seen = 0;
    for (json_walk m(object); m.next() && !check.failed();) {
      auto const at = index_of(m.key());
      if (at == fields_.size()) return check.unknown(m.value());
      seen |= std::uint64_t{1} << at;
      fields_[at].read(check, m.value(), into);
    }
    for (std::size_t i = 0; i < fields_.size(); ++i)
      if (!fields_[i].missing.empty() && !(seen >> i & 1))
        check.fail(invalid(path_in(object, fields_[i].name), std::string(fields_[i].missing)));
  }

  json_kind<T> kind() const {
    return {schema_, [this](json_check& check, json_ref const& at) {
              T into;
              read(check, at, into);
              return into;
            }};
  }

 private:
  static std::string path_in(json_ref const& object, std::string_view member) {
    auto const path = object.path();
    return (path.empty() ? "" : path + ".") + std::string(member);
  }

  std::size_t index_of(std::string_view name) const {
    std::size_t i = 0;
    while (i < fields_.size() && fields_[i].name != name) ++i;
    return i;
  }

  std::vector<json_field<T>> const fields_;
  web::schema::json schema_;
};

}  // namespace muster::web
