// The documentation site under /docs/: the files in a directory that scripts/docs has built. Used
// on the web thread.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "web/http/http.hpp"

namespace muster::web {

/// Returns share/muster/docs next to the directory of this executable, or "" if it does not exist.
std::filesystem::path installed_documentation();

class documentation {
 public:
  /// Maximum file size. Larger files are answered with 404.
  static constexpr std::size_t file_bytes_max = std::size_t{8} << 20;

  /// @param directory the site; if empty, /docs/ is a page that explains how to get the site
  explicit documentation(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Returns the response for a path under /docs, or nothing for other paths and missing files.
  /// Each file is read once and then stays in memory, so that requests without a token cause no
  /// reads. The memory is limited by the size of the directory.
  std::optional<response> find(request const& r);

 private:
  struct file {
    core::blob content;
    std::string etag;  // includes the quotes
  };

  file const* load(std::string const& name);

  std::filesystem::path const directory_;
  std::map<std::string, file> loaded_;
};

}  // namespace muster::web
