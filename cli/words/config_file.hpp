// A configuration file in a subset of TOML. For compatibility, strings need no quotes. Errors
// contain the file and the line. Not thread-safe.
#pragma once

#include <istream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace muster::cli {

struct config_value {
  std::vector<std::string> texts;
  std::size_t line = 0;
};

struct config_file {
  std::string path;
  /// Settings by section (empty at the top) and key.
  std::map<std::pair<std::string, std::string>, config_value> settings;

  config_value const* find(std::string const& section, std::string const& key) const;
  std::string at(std::size_t line) const { return path + ":" + std::to_string(line); }
};

/// Tables and keys must not be repeated.
/// @throws command_error (usage) whose message contains the file and the line
config_file parse_config(std::istream& text, std::string const& path);
/// Reads at most 1 MiB. If the path is empty, returns no settings.
config_file read_config(std::string const& path);

/// Returns a value as text that parse_config() can read.
std::string config_text(std::string const& value);

}  // namespace muster::cli
