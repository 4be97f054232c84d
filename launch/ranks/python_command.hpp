// A command that is a Python program, taken apart as the interpreter itself does. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::launch {

struct python_command {
  std::vector<std::string> interpreter;  // python and its options
  char mode = 's';                       // s: a script, m: a module, c: code
  std::vector<std::string> words;        // which one, and its arguments
};

/// Errors: std::invalid_argument says why its process cannot be the fork of one that has begun.
python_command python_command_of(std::vector<std::string> const& command);

}  // namespace muster::launch
