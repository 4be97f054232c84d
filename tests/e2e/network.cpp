#include "tests/e2e/network.hpp"

#include <unistd.h>

#include <cstdio>

namespace muster::e2e {

// Derives names and addresses from the process id, since tests run in parallel. Each test has a
// subnet of four addresses in the range reserved for tests, 198.18.0.0/15.
network::network() {
  auto const id = static_cast<unsigned>(getpid());
  auto const offset = id % (1u << 15) * 4;
  auto const subnet = "198." + std::to_string(18 + offset / 65'536) + "." +
                      std::to_string(offset / 256 % 256) + ".";
  near_address_ = subnet + std::to_string(offset % 256 + 1);
  auto const far_address = subnet + std::to_string(offset % 256 + 2);
  name_ = "muster" + std::to_string(id);
  near_ = "mun" + std::to_string(id);
  far_ = "muf" + std::to_string(id);
  for (auto const& command :
       {"netns add " + name_,
        "link add " + near_ + " type veth peer name " + far_ + " netns " + name_,
        "addr add " + near_address_ + "/30 dev " + near_, "link set " + near_ + " up",
        "-n " + name_ + " addr add " + far_address + "/30 dev " + far_,
        "-n " + name_ + " link set " + far_ + " up", "-n " + name_ + " link set lo up"}) {
    problem_ = run(command);
    if (problem_.empty()) continue;
    problem_ = "ip " + command + ": " + problem_;
    return;
  }
}

network::~network() {
  run("link del " + near_);
  run("netns del " + name_);
}

void network::unplug() const {
  run("link set " + near_ + " down");
}
void network::plug_in() const {
  run("link set " + near_ + " up");
}

// Returns an empty string, or the error output of the command.
std::string network::run(std::string const& command) const {
  auto* const pipe = popen(("ip " + command + " 2>&1").c_str(), "r");
  if (!pipe) return "cannot start a shell";
  std::string said;
  char text[256];
  while (fgets(text, sizeof text, pipe)) said += text;
  if (pclose(pipe) == 0) return {};
  return said.empty() ? "failed" : said;
}

}  // namespace muster::e2e
