// Finds the operation of an exchange, compares both, and records what was seen.
#include "tests/web/contract/contract.hpp"

#include <charconv>
#include <sstream>

#include "base/text.hpp"
#include "web/http/query.hpp"
#include "web/rest/handlers.hpp"
#include "web/server/dispatch.hpp"

namespace muster::web::test {

namespace {

// Parses the path and query of a URL as the server does.
request parsed_target(http_request const& asked) {
  request r;
  r.method = asked.method;
  auto const scheme = asked.url.find("://");
  auto const slash = asked.url.find('/', scheme + 3);
  r.target = slash == std::string::npos ? "/" : asked.url.substr(slash);
  r.path = r.target.substr(0, r.target.find('?'));
  if (r.path.size() < r.target.size())
    (void)parse_query(std::string_view(r.target).substr(r.path.size() + 1), r);
  return r;
}

// Converts a parameter's text to the type of its schema.
json::value value_of_text(json::object const& schema, std::string const& text) {
  auto const* type = schema.if_contains("type");
  if (type && *type == "integer")
    if (auto const n = parse_number(text)) return *n;
  if (type && *type == "boolean") {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
  }
  if (auto const* words = schema.if_contains("enum"))  // matches in any letter case
    for (auto const& word : words->as_array())
      if (equal_ignoring_case(word.as_string(), text)) return word;
  return json::string(text);
}

std::string name_of(json::value const& parameter) {
  return std::string(parameter.at("name").as_string());
}

std::optional<std::string> given(json::value const& parameter, http_request const& asked,
                                 request const& parsed) {
  auto const name = name_of(parameter);
  auto const in = parameter.at("in").as_string();
  if (in == "header") {
    for (auto const& [key, value] : asked.headers)
      if (equal_ignoring_case(key, name)) return value;
    return {};
  }
  for (auto const& [key, value] : in == "path" ? parsed.captures : parsed.query)
    if (key == name && !value.empty()) return value;
  return {};
}

}  // namespace

std::string media_of(std::string_view content_type) {
  return lower(content_type.substr(0, content_type.find(';')));
}

contract& contract::instance() {
  static contract one;
  return one;
}

contract::contract()
    : routes_(all_routes()),
      document_(json::parse(openapi_text(routes_, "0"))),
      schemas_(document_) {
  for (auto const& [path, item] : document_.at("paths").as_object())
    for (auto const& [method, operation] : item.as_object())
      operations_.emplace(operation.at("operationId").as_string(), &operation.as_object());
}

std::string contract::breach(http_request const& asked, http_response const& answer) {
  auto parsed = parsed_target(asked);
  auto const match = find_route(routes_, asked.method, parsed.path);
  if (!match.found) {
    if (media_of(answer.header("Content-Type")) != "application/problem+json") return {};
    schemas_.strict = true;
    return body_misfit(document_.at_pointer("/components/schemas/Problem"), "application/json",
                       answer.body);
  }
  parsed.captures = match.captures;
  auto const& operation = this->operation(match.found->id);
  statuses_[std::string(match.found->id)].insert(answer.status);
  if (answer.ok())
    if (auto why = request_breach(operation, asked, parsed); !why.empty())
      return "accepted, though " + why;
  return answer_breach(operation, asked.method == "HEAD", answer);
}

std::string contract::request_breach(json::object const& operation, http_request const& asked,
                                     request const& parsed) {
  schemas_.strict = false;
  for (auto const& p : operation.at("parameters").as_array()) {
    auto const text = given(p, asked, parsed);
    auto const* required = p.as_object().if_contains("required");
    if (!text && required && *required == true) return name_of(p) + " is missing";
    if (!text) continue;
    auto const& schema = p.at("schema");
    if (auto why = schemas_.misfit(schema, value_of_text(schema.as_object(), *text), name_of(p));
        !why.empty())
      return why;
  }
  auto const* body = operation.if_contains("requestBody");
  if (!body || (asked.body.empty() && body->at("required") == false)) return {};
  auto const media = media_of(asked.content_type);
  auto const& content = body->at("content").as_object();
  if (content.contains("application/octet-stream")) return {};
  if (!content.contains(media)) return "a body of " + media + " is not described";
  return body_misfit(content.at(media).at("schema"), media, asked.body);
}

std::string contract::answer_breach(json::object const& operation, bool head,
                                    http_response const& answer) {
  schemas_.strict = true;
  auto const& responses = operation.at("responses").as_object();
  auto const* described = responses.if_contains(std::to_string(answer.status));
  if (!described) return "the status " + std::to_string(answer.status) + " is not described";
  auto const& outcome = schemas_.resolved(*described).as_object();
  auto const* content = outcome.if_contains("content");
  if (!content) return answer.body.empty() ? "" : "there is a body, and none is described";
  auto const media = media_of(answer.header("Content-Type"));
  auto const* of = content->get_object().if_contains(media);
  if (!of) return "an answer of " + media + " is not described";
  auto const* schema = of->get_object().if_contains("schema");
  return schema && !head ? body_misfit(*schema, media, answer.body) : std::string();
}

std::string contract::body_misfit(json::value const& schema, std::string_view media,
                                  std::string const& text) {
  if (media != "application/x-ndjson" && !media.ends_with("json")) return {};
  boost::system::error_code ec;
  if (media != "application/x-ndjson") {
    auto const v = json::parse(text, ec);
    return ec ? "no JSON: " + text.substr(0, 200) : schemas_.misfit(schema, v);
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto const v = json::parse(line, ec);
    auto const why = ec ? "no JSON: " + line.substr(0, 200) : schemas_.misfit(schema, v);
    if (!why.empty()) return why;
  }
  return {};
}

namespace {

void collect_unseen(json::value const& schema, std::string const& at,
                    std::set<json::value const*> const& seen, std::vector<std::string>& into) {
  if (schema.is_array())
    for (auto const& one : schema.get_array()) collect_unseen(one, at, seen, into);
  if (!schema.is_object()) return;
  for (auto const& [keyword, inside] : schema.get_object()) {
    if (keyword != "properties") {
      collect_unseen(inside, at, seen, into);
      continue;
    }
    for (auto const& [name, member] : inside.as_object()) {
      auto const path = at + "." + std::string(name);
      if (!seen.contains(&member)) into.push_back(path);
      collect_unseen(member, path, seen, into);
    }
  }
}

}  // namespace

std::vector<std::string> contract::unseen() {
  std::vector<std::string> all;
  std::map<std::string, bool, std::less<>>
      common;  // components/responses that some operation returned
  for (auto const& [id, operation] : operations_) {
    for (auto const& [status, outcome] : operation->at("responses").as_object()) {
      bool const seen = statuses_[id].contains(static_cast<unsigned>(std::stoul(status)));
      if (outcome.as_object().contains("$ref"))
        common[std::string(status)] |= seen;
      else if (!seen)
        all.push_back(id + " " + std::string(status));
    }
  }
  for (auto const& [status, seen] : common)
    if (!seen) all.push_back("any " + status);
  for (auto const& [name, schema] : document_.at_pointer("/components/schemas").as_object())
    collect_unseen(schema, std::string(name), schemas_.seen, all);
  return all;
}

}  // namespace muster::web::test
