// Generates values of schemas, with a preference for the ends of each range.
#include "tests/web/contract/generator.hpp"

#include <regex>
#include <stdexcept>

#include "base/text.hpp"

namespace muster::web::test {

namespace {

constexpr int depth_max = 4;
constexpr std::size_t ids_kept = 20;

std::string const durations[] = {"0",     "0s",   "1us",  "1ms",      "250ms",
                                 "1m30s", "365d", "007s", "3650000d", "99999999999999999999d"};
// Waits are short to keep the run short.
std::string const waits[] = {"0", "1ms", "5ms", "1000us"};
std::string const tasks[] = {"worker:0", "worker:1", "worker:2", "worker", "gpu:999999999999999999",
                             "a:b:3",    "é"};
std::string const keys[] = {"a", "a/b", "/a//b/", "é/漢", "a b%+?#", "k"};
std::string const clusters[] = {"default", "default", "default", "c1", "c2", "train.2"};

}  // namespace

std::string generator::any_text(std::size_t n) {
  static std::string const pieces[] = {"a", "b", "Z",  "0", "9",  "_",  "-", ".", ":", "/",
                                       " ", "é", "漢", "😀", "\"", "\\", "$", "#", "%", "&"};
  std::string t;
  for (; n > 0; --n) t += one_of(pieces);
  return t;
}

std::string generator::id(std::string const& prefix) {
  auto const& known = ids_[prefix];
  if (!known.empty() && below(8) != 0) return one_of(known);
  return prefix + hex16(below(4) == 0 ? random_() : below(3));
}

std::string generator::like(std::string const& pattern) {
  static std::regex const id_form(R"(^\^([a-z]*_)\[0-9a-f\]\{16\}\$$)");
  static std::regex const token_form(R"(^\^\(\[([a-z]+)\]\[0-9a-f\]\{16\}\)\?\$$)");
  std::smatch m;
  if (std::regex_match(pattern, m, id_form)) return id(m[1]);
  if (std::regex_match(pattern, m, token_form)) {
    auto const kinds = m[1].str();
    return one_of(kinds) + hex16(below(2) == 0 ? below(5) : random_());
  }
  if (pattern == "^[0-9a-f]{64}$") return hex16(0) + hex16(0) + hex16(0) + hex16(below(3));
  if (pattern == "^(job_[0-9a-f]{16})?$") return below(3) == 0 ? "" : id("job_");
  static std::regex const listing_form(R"(^\^\(([a-z])\(\[0-9a-f\]\{2\}\)\*\)\?\$$)");
  if (!pattern.starts_with("^(k(") && !pattern.starts_with("^(w(") &&
      std::regex_match(pattern, m, listing_form)) {
    auto token = m[1].str();
    for (auto n = below(30); n > 0; --n) token += hex16(random_()).substr(0, 2);
    return below(3) == 0 ? "" : token;
  }
  // The token of /work contains the order, so the token of another order is an error.
  if (pattern.starts_with("^(w(")) return below(2) == 0 ? "" : "w";
  if (pattern.starts_with("^(k(")) return below(2) == 0 ? "k" : "k612f62ff";
  if (pattern.find("(us|ms|s|m|h|d)") != std::string::npos) return one_of(durations);
  static std::regex const list_form(R"(^\^\(\(([A-Za-z|]+)\)\(,.*$)");
  if (std::regex_match(pattern, m, list_form)) {
    auto const words = m[1].str();
    auto const end = words.find('|');
    return below(3) == 0 ? "" : words.substr(0, end) + "," + words.substr(words.rfind('|') + 1);
  }
  if (pattern.starts_with("^(rv_"))
    return below(2) == 0 ? id("rv_") : "#" + std::to_string(below(3));
  if (pattern.find("[A-Za-z0-9+/_-]{4}") != std::string::npos)
    return base64(any_text(below(8))).substr(0, 4 * below(4));
  if (pattern.find(",[^,]+") != std::string::npos)
    return below(2) == 0 ? "worker:0,worker:1" : "worker:1,";
  if (pattern.find(":[0-9]{1,18}") != std::string::npos) return one_of(tasks);
  if (pattern == "[^/]") return one_of(keys);
  if (pattern == "^[A-Za-z0-9_.-]{1,128}$")
    return below(9) == 0 ? std::string(128, 'n') : one_of(clusters);
  if (pattern.starts_with("^[^\\u0000"))
    return below(2) == 0 ? "muster.echo" : below(2) == 0 ? "muster.fail" : any_text(1 + below(256));
  throw std::logic_error("nothing is known that matches " + pattern);
}

std::string generator::text(json::object const& s) {
  if (auto const* pattern = s.if_contains("pattern"))
    return like(std::string(pattern->get_string()));
  auto const* min = s.if_contains("minLength");
  auto const* max = s.if_contains("maxLength");
  auto const least = min ? min->to_number<std::size_t>() : 0;
  auto const most = max ? max->to_number<std::size_t>() : 40;
  std::size_t const sizes[] = {least, least + 1, least + 3, least + 12, most};
  return any_text(std::min(one_of(sizes), most));
}

json::value generator::object(json::object const& s, int depth) {
  json::object v;
  std::set<std::string_view> required;
  if (auto const* names = s.if_contains("required"))
    for (auto const& name : names->get_array()) required.insert(name.get_string());
  if (auto const* properties = s.if_contains("properties"))
    for (auto const& [name, schema] : properties->get_object())
      if (required.contains(name) || below(3) == 0) v[name] = value(schema, depth + 1);
  auto const* more = s.if_contains("additionalProperties");
  if (!more || !more->is_object()) return v;
  auto const* names = s.if_contains("propertyNames");
  bool const patterned = names && names->get_object().contains("type");
  for (auto n = below(3); n > 0; --n)
    v[patterned ? text(names->get_object()) : any_text(1 + below(5))] = value(*more, depth + 1);
  return v;
}

json::value generator::fitting(json::object const& s, int depth) {
  if (auto const* values = s.if_contains("enum")) return one_of(values->get_array());
  if (auto const* any = s.if_contains("anyOf"); any && !s.contains("properties")) {
    auto const& all = any->get_array();
    return value(all[depth > depth_max ? 0 : below(all.size())], depth + 1);
  }
  auto const* given = s.if_contains("type");
  if (!given) return json::string(any_text(below(4)));
  auto const& type = given->is_array() ? one_of(given->get_array()) : *given;
  if (type == "null") return nullptr;
  if (type == "boolean") return below(2) == 0;
  if (type == "number") return static_cast<double>(below(1000)) / 8;
  if (type == "string") return json::string(text(s));
  if (type == "object") return object(s, depth);
  if (type == "array") {
    json::array v;
    auto const* items = s.if_contains("items");
    auto const least = s.contains("minItems") ? std::uint64_t{1} : std::uint64_t{0};
    for (auto n = least + (depth > depth_max || s.contains("maxItems") ? 0 : below(4)); n > 0; --n)
      v.push_back(items ? value(*items, depth + 1) : json::value(below(10)));
    return v;
  }
  auto const* min = s.if_contains("minimum");
  auto const* max = s.if_contains("maximum");
  auto const low = min ? min->to_number<std::int64_t>() : 0;
  if (max && max->is_uint64()) return below(2) == 0 ? *max : json::value(below(5));
  auto const high = max ? max->to_number<std::int64_t>() : 1'000;
  std::int64_t const ends[] = {low, low + 1, high,
                               std::min(high, low + static_cast<std::int64_t>(below(20)))};
  return one_of(ends);
}

json::value generator::value(json::value const& schema, int depth) {
  auto const& s = contract_.schemas().resolved(schema);
  contract_.schemas().strict = false;
  for (int tries = 0; tries < 200; ++tries) {
    auto v = fitting(s.as_object(), depth);
    if (contract_.schemas().misfit(s, v).empty()) return v;
  }
  throw std::logic_error("no value was found for " + json::serialize(s).substr(0, 500));
}

std::string generator::parameter_text(json::value const& p) {
  auto const& schema = p.at("schema");
  auto const name = p.at("name").as_string();
  if (name == "wait" && schema.at("type") == "boolean") return "false";  // a job may never end
  if (name == "timeout" || name == "wait") return one_of(waits);
  if (name == "cluster") return one_of(clusters);
  if (name == "job" && p.at("in") == "path") return below(3) == 0 ? any_text(3) : "worker";
  if (name == "id" && schema.as_object().contains("maxLength"))
    return below(3) == 0 ? any_text(9) : "b";
  auto const v = value(schema);
  return v.is_string() ? std::string(v.get_string()) : json::serialize(v);
}

drawn_request generator::draw(std::string_view wanted) {
  auto const routes = contract_.routes();
  route const* r = &routes[below(routes.size())];
  for (auto const& one : routes)
    if (one.id == wanted) r = &one;
  auto const& operation = contract_.operation(r->id);
  drawn_request d{std::string(r->id), std::string(r->method), std::string(r->pattern), {}, {}, {}};
  std::string query;
  for (auto const& p : operation.at("parameters").as_array()) {
    auto const name = std::string(p.at("name").as_string());
    bool const required = p.as_object().contains("required") || name == "timeout";
    if (!required && below(3) != 0) continue;
    auto const text = parameter_text(p);
    if (p.at("in") == "path") {
      auto const open = d.target.find('{');
      d.target.replace(open, d.target.find('}') + 1 - open, percent_encoded(text));
    } else if (p.at("in") == "header") {
      d.headers.emplace_back(name, text);
    } else {
      query += (query.empty() ? "?" : "&") + name + "=" + percent_encoded(text);
    }
  }
  d.target += query;
  auto const* body = operation.if_contains("requestBody");
  if (!body) return d;
  auto const& content = body->at("content").as_object();
  auto const& [media, of] = *(content.begin() + static_cast<std::ptrdiff_t>(below(content.size())));
  d.content_type = media;
  auto const* schema = of.as_object().if_contains("schema");
  if (media == "application/octet-stream") d.body = any_text(below(30));
  if (schema && media == "application/json") d.body = json::serialize(value(*schema));
  if (schema && media == "application/x-ndjson")
    for (auto n = 1 + below(3); n > 0; --n) d.body += json::serialize(value(*schema)) + "\n";
  return d;
}

json::value generator::wrong_value() {
  json::value const some[] = {
      nullptr, true, -1, 1.5, 1e300, UINT64_MAX, "", "x", json::array{1}, json::object{{"x", 1}}};
  return one_of(some);
}

void generator::spoil_value(json::value& v) {
  if (v.is_object() && !v.get_object().empty() && below(4) != 0) {
    auto& o = v.get_object();
    spoil_value((o.begin() + static_cast<std::ptrdiff_t>(below(o.size())))->value());
  } else if (v.is_array() && !v.get_array().empty() && below(4) != 0) {
    spoil_value(v.get_array()[below(v.get_array().size())]);
  } else if (v.is_object() && below(2) == 0) {
    v.get_object()["surprise"] = wrong_value();
  } else {
    v = wrong_value();
  }
}

drawn_request generator::spoil(drawn_request r) {
  boost::system::error_code ec;
  auto body = json::parse(r.body, ec);
  auto const how = below(4);
  if (how == 0 && !ec) {
    spoil_value(body);
    r.body = json::serialize(body);
  } else if (how == 1 && !r.body.empty()) {
    r.body[below(r.body.size())] = static_cast<char>(below(256));
  } else if (how == 2) {
    r.target += (r.target.find('?') == std::string::npos ? "?" : "&") + any_text(3) + "=1";
  } else {
    static std::string const junk[] = {"%FF", "-1", "1e9", "%20", "99999999999999999999999", "x"};
    auto const equals = r.target.rfind('=');
    if (equals != std::string::npos) r.target = r.target.substr(0, equals + 1) + one_of(junk);
  }
  for (auto& c : r.target)
    if (c == ' ' || c == '#' || static_cast<unsigned char>(c) >= 0x80 || c == '"') c = '_';
  return r;
}

void generator::learn(std::string const& answer) {
  static std::regex const form("\"(job_|cl_|rv_|pw_)[0-9a-f]{16}\"");
  for (std::sregex_iterator m(answer.begin(), answer.end(), form), end; m != end; ++m) {
    auto const text = m->str().substr(1, m->str().size() - 2);
    auto& known = ids_[text.substr(0, text.find('_') + 1)];
    known.push_back(text);
    if (known.size() > ids_kept) known.erase(known.begin());
  }
}

}  // namespace muster::web::test
