// Matches a path against the patterns, segment by segment.
#include "web/http/router.hpp"

#include "base/text.hpp"

namespace muster::web {

namespace {

std::string_view next_segment(std::string_view& path) {
  path.remove_prefix(1);  // the slash
  auto const end = std::min(path.find('/'), path.size());
  auto const segment = path.substr(0, end);
  path.remove_prefix(end);
  return segment;
}

// Captures nothing on failure. An escape that is malformed or hides a NUL matches no parameter.
bool matches(std::string_view pattern, std::string_view path,
             std::vector<std::pair<std::string, std::string>>& captures) {
  captures.clear();
  while (!pattern.empty() && !path.empty()) {
    auto const want = next_segment(pattern);
    bool const rest = want.ends_with("*}");
    auto const got = rest ? std::exchange(path, {}).substr(1) : next_segment(path);
    if (!want.starts_with('{')) {
      if (want != got) return false;
      continue;
    }
    auto value = percent_decoded(got, false);
    if (!value || value->empty() || value->find('\0') != std::string::npos) return false;
    captures.emplace_back(want.substr(1, want.size() - (rest ? 3 : 2)), std::move(*value));
  }
  return pattern.empty() && path.empty();
}

}  // namespace

route get(std::string_view pattern, handler run, std::string_view id, std::string_view summary) {
  return {"GET", pattern, run, id, summary};
}

route post(std::string_view pattern, handler run, std::string_view id, std::string_view summary) {
  return {"POST", pattern, run, id, summary};
}

route remove(std::string_view pattern, handler run, std::string_view id, std::string_view summary) {
  route r{"DELETE", pattern, run, id, summary};
  r.media.clear();
  return std::move(r.also(204, summary));
}

router::router(std::vector<route> routes) : routes_(std::move(routes)) {}

router::match router::find(std::string_view method, std::string_view path) const {
  match m;
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (!path.starts_with('/')) return m;
  std::vector<std::pair<std::string, std::string>> captures;
  for (auto const& r : routes_) {
    if (!matches(r.pattern, path, captures)) continue;
    bool const get = r.method == "GET";
    if (!m.found && (r.method == method || (get && method == "HEAD"))) {
      m.found = &r;
      m.captures = captures;
    }
    if (m.allow.find(r.method) != std::string::npos) continue;  // of a more general pattern
    if (!m.allow.empty()) m.allow += ", ";
    m.allow += r.method;
    if (get) m.allow += ", HEAD";
  }
  if (!m.allow.empty()) m.allow += ", OPTIONS";
  return m;
}

}  // namespace muster::web
