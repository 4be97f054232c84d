// The documentation site, and the dashboard's files, which are embedded in the binary or, for
// development, read from a directory. Used on the web thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "web/http/http.hpp"
#include "web/server/documentation.hpp"

namespace muster::web {

struct embedded_asset {
  std::string_view path;
  std::string_view type;
  std::string_view etag;
  bool immutable = false;
  std::string_view plain, gzip;
};

/// The build generates this function. Without the dashboard, the only file is a short text page.
std::span<embedded_asset const> embedded_assets();

class asset_store {
 public:
  /// @param directory if not empty, the dashboard's files are served from it, and its manifest.json
  /// is read for each request
  /// @param docs directory of the documentation site; empty if there is none
  /// @param base_path see `web_options::base_path`
  explicit asset_store(std::string directory, std::string docs = {}, std::string base_path = {})
      : directory_(std::move(directory)),
        base_path_(std::move(base_path)),
        docs_(std::move(docs)) {}

  /// Returns the file at the request's path, the dashboard if the path is one of its routes, or
  /// nothing.
  std::optional<response> find(request const& r);

 private:
  std::string const directory_;
  std::string const base_path_;
  documentation docs_;
};

/// Returns true for paths that the dashboard routes itself, such as "/tasks/worker/3".
bool is_page_route(std::string_view path);

}  // namespace muster::web
