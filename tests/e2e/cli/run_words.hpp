// Helpers for tests of `muster run`: command lines around a shell script, and parsing of its
// output.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {

using environment = std::vector<std::pair<std::string, std::string>>;

inline bool says(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// Returns the command line `run FLAGS -- /bin/sh -c SCRIPT`.
inline words sh(words flags, std::string const& script) {
  flags.insert(flags.begin(), "run");
  flags.insert(flags.end(), {"--", "/bin/sh", "-c", script});
  return flags;
}

inline std::map<std::string, std::string> variables(std::string const& text) {
  std::map<std::string, std::string> all;
  for (auto const& line : lines(text))
    all[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  return all;
}

/// Returns the process id in a file, or 0 if it is not complete.
inline pid_t number_in(std::filesystem::path const& file) {
  auto const text = read_file(file);
  return text.ends_with('\n') ? std::stoi(text) : 0;
}

inline bool said(process& p, std::string const& text) {
  return await([&] { return p.output().find(text) != std::string::npos; });
}

}  // namespace muster::e2e
