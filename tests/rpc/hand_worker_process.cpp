// A worker process that accepts closures and never answers, until a test kills it. Arguments:
// SERVER FUNCTION.
#include <unistd.h>

#include <iostream>

#include "tests/support/hand_worker.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  muster::test::hand_worker worker(
      argv[1], muster::test::make_hello({argv[2]}, 4, 16, static_cast<std::uint64_t>(getpid())));
  std::cout << "attached" << std::endl;
  while (auto m = worker.read_closures()) std::cout << m->closure_size() << std::endl;
  return 0;
}
