// Pure function that parses the command line of a Python program as the interpreter does.
#pragma once

#include <string>
#include <vector>

namespace muster::launch {

struct python_command {
  std::vector<std::string> interpreter;
  char mode = 's';  // s means a script, m a module, c code
  std::vector<std::string> words;
};

/// @throws std::invalid_argument with the reason why the program cannot run in a fork
python_command python_command_of(std::vector<std::string> const& command);

}  // namespace muster::launch
