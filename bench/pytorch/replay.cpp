// Replays a recording of bench/pytorch/start against a TCPStore, with a thread per connection, all
// at once. Prints the milliseconds from the first connection to the last answer.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace {

struct turn {
  std::string sent;
  std::size_t answer = 0;
};
using connection = std::vector<turn>;

[[noreturn]] void fail(char const* what) {
  std::perror(what);
  std::_Exit(1);
}

std::vector<connection> read_recording(char const* path) {
  std::ifstream in(path, std::ios::binary);
  auto const number = [&] {
    std::uint32_t n = 0;
    in.read(reinterpret_cast<char*>(&n), sizeof n);
    return n;
  };
  std::vector<connection> all;
  for (auto turns = number(); in; turns = number()) {
    connection c(turns);
    for (auto& t : c) {
      t.sent.resize(number());
      in.read(t.sent.data(), static_cast<std::streamsize>(t.sent.size()));
      t.answer = number();
    }
    all.push_back(std::move(c));
  }
  return all;
}

int connected(std::uint16_t port) {
  int const s = socket(AF_INET, SOCK_STREAM, 0);
  int const on = 1;
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(s, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) fail("connect");
  return s;
}

void replay(connection const& c, int s) {
  std::vector<char> buffer(1 << 16);
  for (auto const& t : c) {
    for (std::size_t done = 0; done < t.sent.size();) {
      auto const n = send(s, t.sent.data() + done, t.sent.size() - done, MSG_NOSIGNAL);
      if (n <= 0) fail("send");
      done += static_cast<std::size_t>(n);
    }
    for (auto left = t.answer; left > 0;) {
      auto const n = recv(s, buffer.data(), std::min(left, buffer.size()), 0);
      if (n <= 0) fail("the store has closed a connection");
      left -= static_cast<std::size_t>(n);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_torch_replay RECORDING PORT\n");
    return 2;
  }
  auto const all = read_recording(argv[1]);
  auto const port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  auto const connections = static_cast<std::ptrdiff_t>(all.size());
  std::latch ready(connections + 1), answered(connections);
  std::vector<std::jthread> threads;
  for (auto const& c : all)
    threads.emplace_back([&] {
      ready.arrive_and_wait();
      int const s = connected(port);
      replay(c, s);
      answered.count_down();
      answered.wait();  // a store may treat the end of a connection as the end of its rank
    });
  ready.arrive_and_wait();
  auto const begun = std::chrono::steady_clock::now();
  answered.wait();
  std::printf(
      "%.3f\n",
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count());
}
