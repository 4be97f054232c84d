#include "web/server/assets.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/text.hpp"
#include "web/json/json_in.hpp"

namespace muster::web {

namespace {

constexpr std::string_view index_path = "/";

constexpr std::string_view content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'";

bool accepts_gzip(request const& r) {
  auto const text = lower(r.accept_encoding);
  auto const at = text.find("gzip");
  if (at == std::string::npos) return false;
  auto const choice = text.substr(at, text.find(',', at) - at);
  // Weights "q=0" and "q=0.0" mean that the encoding is not accepted.
  auto const weight = choice.find("q=");
  return weight == std::string::npos ||
         choice.find_first_of("123456789", weight) != std::string::npos;
}

bool has_etag(request const& r, std::string_view etag) {
  return r.if_none_match == "*" || r.if_none_match.find(etag) != std::string::npos;
}

response with_headers(embedded_asset const& a, request const& r, bool gzip) {
  response out;
  out.content_type = a.type;
  auto const add = [&](char const* name, std::string_view value) {
    out.headers.emplace_back(name, value);
  };
  add("Cache-Control", a.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  add("ETag", a.etag);
  add("Vary", "Accept-Encoding");
  add("Content-Security-Policy", content_security_policy);
  add("Referrer-Policy", "no-referrer");
  add("Cross-Origin-Opener-Policy", "same-origin");
  if (has_etag(r, a.etag)) {
    out.status = 304;
    out.content_type.clear();
  } else if (gzip) {
    add("Content-Encoding", "gzip");
  }
  return out;
}

/// Adds the base path to all addresses in the page's HTML. They are absolute, because a page such
/// as /runs/ID has the same HTML as /now.
std::string with_base_path(std::string_view base_path, std::string_view html) {
  constexpr std::string_view start = "=\"/";
  std::string out;
  for (std::size_t at = 0;;) {
    auto const next = html.find(start, at);
    if (next == html.npos) return out.append(html.substr(at));
    out.append(html.substr(at, next + 2 - at)).append(base_path);
    at = next + 2;
  }
}

std::optional<response> find_embedded(request const& r, std::string_view path) {
  for (auto const& a : embedded_assets()) {
    if (a.path != path) continue;
    bool const gzip = accepts_gzip(r) && !a.gzip.empty();
    auto out = with_headers(a, r, gzip);
    if (out.status == 200) out.embedded = gzip ? a.gzip : a.plain;
    return out;
  }
  return {};
}

std::optional<std::string> read_file(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

struct manifest_entry {
  std::string path, file, type;
  bool immutable = false;
};

// If the manifest is malformed, no files are served.
std::optional<manifest_entry> find_in_manifest(std::string const& text, std::string_view path) {
  if (!is_json(text)) return {};
  json_ref const root(text);
  if (root.type() != json_type::array) return {};
  for (json_walk list(root); list.next();) {
    if (list.value().type() != json_type::object) return {};
    manifest_entry e;
    for (json_walk m(list.value()); m.next();) {
      bool const string = m.value().type() == json_type::string;
      if (m.key() == "path" && string) e.path = m.value().string();
      if (m.key() == "file" && string) e.file = m.value().string();
      if (m.key() == "type" && string) e.type = m.value().string();
      if (m.key() == "immutable") e.immutable = m.value().text() == "true";
    }
    if (e.path == path) return e;
  }
  return {};
}

std::optional<response> find_on_disk(std::string const& directory, request const& r,
                                     std::string_view path) {
  auto const manifest = read_file(directory + "/manifest.json");
  auto const entry = manifest ? find_in_manifest(*manifest, path) : std::nullopt;
  if (!entry || entry->file.find("..") != std::string::npos) return {};
  auto content = read_file(directory + "/" + entry->file);
  if (!content) return {};
  auto const etag = "\"" + hex16(std::hash<std::string>{}(*content)) + "\"";
  embedded_asset a;
  a.type = entry->type;
  a.etag = etag;
  a.immutable = entry->immutable;
  auto out = with_headers(a, r, false);
  if (out.status == 200) out.body = std::move(*content);
  return out;
}

}  // namespace

bool is_page_route(std::string_view path) {
  // The second list contains pages of earlier versions. The dashboard redirects them.
  static constexpr std::array<std::string_view, 8> pages = {
      "agreement", "closures", "explore", "fleet", "now", "queue", "runs", "work"};
  static constexpr std::array<std::string_view, 17> old_pages = {
      "about",      "barriers", "events",  "functions",  "gangs",    "jobs",
      "kv",         "logs",     "objects", "per-worker", "programs", "sessions",
      "stragglers", "stream",   "tasks",   "values",     "workers"};
  if (path == "/" || path == "/index.html") return true;
  path.remove_prefix(1);
  auto const first = path.substr(0, std::min(path.find('/'), path.size()));
  auto const contains = [first](auto const& list) {
    return std::find(list.begin(), list.end(), first) != list.end();
  };
  return contains(pages) || contains(old_pages);
}

std::optional<response> asset_store::find(request const& r) {
  if (!r.path.starts_with('/')) return {};
  if (auto page = docs_.find(r)) return page;
  // Browsers request the icon even when they display a JSON response.
  auto const path = is_page_route(r.path)      ? index_path
                    : r.path == "/favicon.ico" ? std::string_view("/icon.svg")
                                               : std::string_view(r.path);
  bool const is_index = path == index_path && !base_path_.empty();
  auto asked = r;
  if (is_index) asked.accept_encoding.clear();  // only plain text can be changed
  auto out =
      directory_.empty() ? find_embedded(asked, path) : find_on_disk(directory_, asked, path);
  if (is_index && out && out->status == 200) {
    out->body = with_base_path(base_path_, out->embedded.empty() ? out->body : out->embedded);
    out->embedded = {};
  }
  return out;
}

}  // namespace muster::web
