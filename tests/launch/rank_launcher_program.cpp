// The process that a worker starts for the ranks of a program.
#include "launch/ranks/rank_launcher.hpp"

int main() {
  auto here = muster::launch::split();
  if (here.over) return *here.over;
  return muster::launch::run_ranks(std::move(here));
}
