// Runs a worker with its own function, and a session that calls it, in one process.
#include <iostream>
#include <muster/session.hpp>
#include <muster/worker.hpp>
#include <thread>

int main(int, char** argv) {
  muster::worker worker({.servers = {argv[1]}, .slots = 2});
  worker.function("add", [](int a, int b) { return a + b; });
  auto serving = std::thread([&] { worker.run(); });
  muster::session session({.server = argv[1]});
  int const sum = session.call<int>("add", 40, 2).get();
  std::cout << "40 + 2 = " << sum << '\n';
  session.close();
  worker.stop();
  serving.join();
  return sum == 42 ? 0 : 1;
}
