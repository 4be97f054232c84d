// The part of JSON Schema that /openapi.json uses: validates values. An unknown keyword is an
// error, so that no keyword is ignored silently. One thread.
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
  /// @param document The document that "$ref" refers to. REQUIRES: it outlives this object.
  explicit json_schema(json::value const& document) : document_(document) {}

  /// Whether objects may have only the members that their schemas name.
  bool strict = false;
  /// Addresses of the schemas of all members that values had.
  std::set<json::value const*> seen;

  /// Returns what does not fit, and where; empty if everything fits.
  std::string misfit(json::value const& schema, json::value const& v, std::string const& at = "");
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

std::size_t characters(std::string_view text);

}  // namespace muster::web::test
