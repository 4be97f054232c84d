// Symbolizes frames as `muster stack-reader` does.
#include <unistd.h>

#include "client/programs/native_stacks.hpp"

int main() {
  return muster::read_samples(STDIN_FILENO, STDOUT_FILENO);
}
