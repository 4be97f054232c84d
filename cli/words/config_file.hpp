// A configuration file: the part of TOML that settings need, and what was taken for it so far, such
// as words without quotes. Each mistake is told with its file and line. One thread.
#pragma once

#include <istream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace muster::cli {

struct config_value {
  std::vector<std::string> texts;  // one, or those of a list
  std::size_t line = 0;            // where it stands, from 1
};

struct config_file {
  std::string path;
  /// By section ("" at the top) and key.
  std::map<std::pair<std::string, std::string>, config_value> settings;

  config_value const* find(std::string const& section, std::string const& key) const;
  /// "muster.toml:3"
  std::string at(std::size_t line) const { return path + ":" + std::to_string(line); }
};

/// Parses the text of a configuration file. As in TOML, a table or a key must not be repeated.
/// @throws command_error (usage) that names the file and the line.
config_file parse_config(std::istream& text, std::string const& path);
/// Reads and parses a file of at most 1 MiB. An empty path has no settings.
config_file read_config(std::string const& path);

/// A value as parse_config reads it again.
std::string config_text(std::string const& value);

}  // namespace muster::cli
