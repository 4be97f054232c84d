#include "tests/e2e/network.hpp"

#include <unistd.h>

#include <cstdio>

namespace muster::e2e {

// Names and addresses from the process id: tests run side by side.
network::network() {
  auto const id = static_cast<unsigned>(getpid());
  name_ = "muster" + std::to_string(id);
  near_ = "mun" + std::to_string(id);
  far_ = "muf" + std::to_string(id);
  prefix_ =
      "10." + std::to_string(200 + id / 65'536 % 50) + "." + std::to_string(id / 256 % 256) + ".";
  for (auto const& command :
       {"netns add " + name_,
        "link add " + near_ + " type veth peer name " + far_ + " netns " + name_,
        "addr add " + prefix_ + "1/24 dev " + near_, "link set " + near_ + " up",
        "-n " + name_ + " addr add " + prefix_ + "2/24 dev " + far_,
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

// Empty, or what it said when it failed.
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
