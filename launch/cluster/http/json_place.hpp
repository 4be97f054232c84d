// A JSON value in an answer, with its path. Errors are cluster_error with the path. Refers to the
// JSON and does not own it. Thread-safe.
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
  /// @param origin beginning of each error message, usually the URL
  json_place(boost::json::value const& value, std::string origin)
      : value_(&value), origin_(std::move(origin)) {}

  /// @throws cluster_error (missing), also if the value is null, for example "https://…/nodes/n:
  ///   networkEndpoints[0].ipAddress is missing"
  json_place at(std::string_view key) const;
  std::optional<json_place> find(std::string_view key) const;
  json_place at(std::size_t index) const;
  std::vector<json_place> items() const;
  std::vector<json_place> items_of(std::string_view key) const;

  std::vector<std::pair<std::string, json_place>> members_of(std::string_view key) const;

  // These functions throw cluster_error (invalid), for example "https://…: items[3].status.phase is
  // a number, not a string".
  std::string text() const;
  /// Also accepts a string, because some services send numbers as strings.
  std::int64_t number() const;

  /// Returns "" if the member is missing.
  std::string text_of(std::string_view key) const;

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
