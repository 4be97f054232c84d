#include "web/server/documentation.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "base/bounded_file.hpp"
#include "base/text.hpp"

namespace muster::web {

namespace fs = std::filesystem;

namespace {

// The site's pages contain inline scripts and styles. Their search runs in a web worker.
constexpr std::string_view site_security_policy =
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

struct file_type {
  std::string_view extension, type;
};
constexpr std::array<file_type, 9> types = {{{".html", "text/html; charset=utf-8"},
                                             {".css", "text/css; charset=utf-8"},
                                             {".js", "text/javascript; charset=utf-8"},
                                             {".json", "application/json"},
                                             {".svg", "image/svg+xml"},
                                             {".png", "image/png"},
                                             {".xml", "application/xml"},
                                             {".txt", "text/plain; charset=utf-8"},
                                             {".woff2", "font/woff2"}}};

// Returns "" for files that are not part of a site.
std::string_view type_of(std::string const& name) {
  auto const extension = fs::path(name).extension().string();
  auto const* const found = std::find_if(
      types.begin(), types.end(), [&](file_type const& t) { return t.extension == extension; });
  return found == types.end() ? std::string_view() : found->type;
}

// Returns whether a name stays in the directory, because it has no escapes and no segment that
// starts with a dot.
bool is_plain(std::string_view name) {
  auto const allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  };
  return std::all_of(name.begin(), name.end(), allowed) && !name.starts_with('.') &&
         !name.starts_with('/') && name.find("/.") == name.npos && name.find("//") == name.npos;
}

// `home` is the relative address of the dashboard, which is independent of the base path.
response page(unsigned status, std::string_view text, std::string_view home) {
  response r;
  r.status = status;
  r.content_type = "text/html; charset=utf-8";
  r.headers = {{"Cache-Control", "no-cache"},
               {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"}};
  r.body =
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Documentation - Muster"
      "</title><h1>Documentation</h1><p>" +
      std::string(text) + "</p><p><a href=\"" + std::string(home) + "\">Dashboard</a></p></html>\n";
  return r;
}

}  // namespace

fs::path installed_documentation() {
  std::error_code error;
  auto const self = fs::read_symlink("/proc/self/exe", error);
  auto directory = self.parent_path().parent_path() / "share/muster/docs";
  return !error && fs::is_regular_file(directory / "index.html", error) ? directory : fs::path();
}

documentation::file const* documentation::load(std::string const& name) {
  auto const known = loaded_.find(name);
  if (known != loaded_.end()) return &known->second;
  std::error_code error;
  if (!fs::is_regular_file(directory_ / name, error)) return nullptr;
  auto const content = read_bounded_file((directory_ / name).string(), file_bytes_max);
  if (!content) return nullptr;
  auto const etag = '"' + hex16(std::hash<std::string>{}(*content)) + '"';
  return &loaded_.emplace(name, file{core::blob(*content), etag}).first->second;
}

std::optional<response> documentation::find(request const& r) {
  if (r.path == "/docs") {
    auto moved = page(308, "The documentation is at <a href=\"docs/\">docs/</a>.", "./");
    moved.headers.emplace_back("Location", "/docs/");
    return moved;
  }
  constexpr std::string_view root = "/docs/";
  if (!r.path.starts_with(root)) return {};
  auto name = r.path.substr(root.size());
  if (directory_.empty()) {
    if (!name.empty()) return {};
    return page(404,
                "This server has no copy of the documentation. Build the site with "
                "<code>scripts/docs</code>, and pass <code>--docs-dir build/site</code> to "
                "<code>muster serve</code>.",
                "../");
  }
  if (name.empty() || name.ends_with('/')) name += "index.html";
  auto const type = type_of(name);
  auto const* const found = type.empty() || !is_plain(name) ? nullptr : load(name);
  if (!found) return {};
  response out;
  out.content_type = type;
  out.headers = {{"Cache-Control", "no-cache"},
                 {"ETag", found->etag},
                 {"Content-Security-Policy", std::string(site_security_policy)},
                 {"Referrer-Policy", "no-referrer"},
                 {"Cross-Origin-Opener-Policy", "same-origin"}};
  if (r.if_none_match.find(found->etag) != std::string::npos) {
    out.status = 304;
    out.content_type.clear();
  } else {
    out.shared = found->content;
  }
  return out;
}

}  // namespace muster::web
