// Runs the only task of a cluster.
#include <iostream>
#include <muster/coordination_agent.hpp>

int main(int, char** argv) {
  muster::coordination_agent agent({.server = argv[1], .task = 0});
  agent.connect();
  agent.set("greeting", "hello");
  auto const use = agent.barrier("alone", std::chrono::seconds(10));
  std::cout << agent.get("greeting", std::chrono::seconds(10)) << ' ' << use << '\n';
  agent.shutdown();
}
