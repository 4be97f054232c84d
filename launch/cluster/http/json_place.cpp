#include "launch/cluster/http/json_place.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>

#include "launch/cluster/json_text.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster::cluster {

std::string json_place::where() const {
  return path_.empty() ? origin_ + ": the answer" : origin_ + ": " + path_;
}

std::string json_place::path_to(std::string_view key) const {
  return (path_.empty() ? "" : path_ + ".") + printable(key);
}

void json_place::wrong_kind(std::string const& wanted) const {
  throw invalid(where() + " is " + std::string(kind_name(*value_)) + ", not " + wanted);
}

std::optional<json_place> json_place::find(std::string_view key) const {
  if (!value_->is_object()) wrong_kind("an object");
  auto const* found = value_->get_object().if_contains(key);
  if (!found || found->is_null()) return {};
  return json_place(*found, *this, path_to(key));
}

json_place json_place::at(std::string_view key) const {
  if (auto found = find(key)) return *found;
  throw missing(origin_ + ": " + path_to(key) + " is missing");
}

json_place json_place::at(std::size_t index) const {
  if (!value_->is_array()) wrong_kind("a list");
  auto const path = path_ + "[" + std::to_string(index) + "]";
  if (index >= value_->get_array().size()) throw missing(origin_ + ": " + path + " is missing");
  return {value_->get_array()[index], *this, path};
}

std::vector<json_place> json_place::items() const {
  if (!value_->is_array()) wrong_kind("a list");
  std::vector<json_place> all;
  for (std::size_t i = 0; i < value_->get_array().size(); ++i) all.push_back(at(i));
  return all;
}

std::vector<json_place> json_place::items_of(std::string_view key) const {
  auto const list = find(key);
  return list ? list->items() : std::vector<json_place>();
}

std::vector<std::pair<std::string, json_place>> json_place::members_of(std::string_view key) const {
  std::vector<std::pair<std::string, json_place>> all;
  auto const object = find(key);
  if (!object) return all;
  if (!object->value_->is_object()) object->wrong_kind("an object");
  for (auto const& [name, value] : object->value_->get_object())
    all.emplace_back(std::string(name),
                     json_place(value, *object, object->path_to(std::string_view(name))));
  return all;
}

std::string json_place::text() const {
  if (!value_->is_string()) wrong_kind("a string");
  return std::string(value_->get_string());
}

std::string json_place::text_of(std::string_view key) const {
  auto const found = find(key);
  return found ? found->text() : std::string();
}

std::int64_t json_place::number() const {
  if (value_->is_int64()) return value_->get_int64();
  if (!value_->is_string()) wrong_kind("a whole number");
  auto const& digits = value_->get_string();
  std::int64_t n = 0;
  auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (digits.empty() || ec != std::errc{} || end != digits.data() + digits.size())
    wrong_kind("a whole number");
  return n;
}

}  // namespace muster::cluster
