// Parses the command line of a Python program as the interpreter does. Pure function.
#pragma once

#include <string>
#include <vector>

namespace muster::launch {

struct python_command {
  std::vector<std::string> interpreter;
  char mode = 's';  // s for a script, m for a module, c for code
  std::vector<std::string> words;
};

/// @throws std::invalid_argument that explains why the program cannot run in a fork
python_command python_command_of(std::vector<std::string> const& command);

}  // namespace muster::launch
