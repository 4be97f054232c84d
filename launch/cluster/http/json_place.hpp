// A value in an answer, with the way to it: what is missing or of another kind becomes a
// cluster_error that says where. Refers to the JSON and does not own it. Any thread.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/cluster_error.hpp"

namespace muster::cluster {

class json_place {
 public:
  /// `origin` begins each error, usually the URL.
  json_place(boost::json::value const& value, std::string origin)
      : value_(&value), origin_(std::move(origin)) {}

  /// missing: "https://…/nodes/n: networkEndpoints[0].ipAddress is missing". null is missing too.
  json_place at(std::string_view key) const;
  std::optional<json_place> find(std::string_view key) const;
  json_place at(std::size_t index) const;
  /// Of a list.
  std::vector<json_place> items() const;
  /// As items, of a list that may be left out.
  std::vector<json_place> items_of(std::string_view key) const;

  /// Names and values of an object that may be left out.
  std::vector<std::pair<std::string, json_place>> members_of(std::string_view key) const;

  // invalid: "https://…: items[3].status.phase is a number, not a string"
  std::string text() const;
  /// A whole number; services write some of them as strings.
  std::int64_t number() const;

  /// Text of a member that may be left out; empty then.
  std::string text_of(std::string_view key) const;

  /// "https://…: items[3].status"
  std::string where() const;

 private:
  json_place(boost::json::value const& value, json_place const& parent, std::string path)
      : value_(&value), origin_(parent.origin_), path_(std::move(path)) {}
  std::string path_to(std::string_view key) const;
  [[noreturn]] void wrong_kind(std::string const& wanted) const;

  boost::json::value const* value_;
  std::string origin_;
  std::string path_;
};

}  // namespace muster::cluster
