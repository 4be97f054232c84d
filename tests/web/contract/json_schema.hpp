// JSON Schema, as much of it as /openapi.json uses: whether a value fits, and random ones that do.
// A keyword that is not known fails, so that none is passed over in silence. One thread.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace muster::web::test {

namespace json = boost::json;

class json_schema {
 public:
  /// Of the document that holds what schemas refer to. REQUIRES: it outlives this.
  explicit json_schema(json::value const& document) : document_(document) {}

  /// Objects may have no members but those that their schemas name.
  bool strict = false;
  /// The schemas of members that a value had, by their address.
  std::set<json::value const*> seen;

  /// What does not fit, and where; empty if all does.
  std::string misfit(json::value const& schema, json::value const& v, std::string const& at = "");
  /// Follows "$ref".
  json::value const& resolved(json::value const& schema) const;

 private:
  std::string by_combination(json::object const& s, json::value const& v, std::string const& at);
  std::string by_type(json::object const& s, json::value const& v, std::string const& at);
  std::string object(json::object const& s, json::object const& v, std::string const& at);
  std::string array(json::object const& s, json::array const& v, std::string const& at);
  std::string text(json::object const& s, std::string const& v, std::string const& at);
  std::string number(json::object const& s, json::value const& v, std::string const& at);

  json::value const& document_;
};

/// How many characters UTF-8 text has.
std::size_t characters(std::string_view text);

}  // namespace muster::web::test
