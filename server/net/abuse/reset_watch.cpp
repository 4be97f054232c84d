#include "server/net/abuse/reset_watch.hpp"

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "server/net/abuse/reset_connection.hpp"
#include "server/net/sleep_until_stop.hpp"

namespace muster::net {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds asked_every{100}, patience{200};
// Normal clients reset few calls, so 16 resets in 16 KiB of unread data are abusive.
constexpr std::size_t bytes_examined = 16 << 10, resets_max = 16;

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t n = 0;
  for (std::size_t i = at; i < at + 4; ++i) n = n << 8 | static_cast<unsigned char>(bytes[i]);
  return n;
}

}  // namespace

// Matches the head of a RST_STREAM frame: length 4, type 3, no flags.
std::size_t resets_in(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr auto head = "\0\0\4\3\0"sv;
  constexpr std::size_t frame = 13;
  std::size_t found = 0;
  std::uint32_t last = 0;
  for (auto at = bytes.find(head); at != bytes.npos && at + frame <= bytes.size();
       at = bytes.find(head, at + 1)) {
    auto const stream = number_at(bytes, at + 5);
    if (stream % 2 == 0 || stream >> 31 || stream <= last || number_at(bytes, at + 9) > 13)
      continue;
    last = stream;
    ++found;
  }
  return found;
}

reset_watch::reset_watch(coro::engine_context& engine,
                         std::function<void(std::string const&)> was_cut,
                         std::function<void()> beside)
    : engine_(engine),
      was_cut_(std::move(was_cut)),
      beside_(std::move(beside)),
      thread_([this](std::stop_token stop) { run(std::move(stop)); }) {}

void reset_watch::run(std::stop_token stop) {
  auto const turned = std::make_shared<std::atomic<bool>>(true);
  auto asked = clock::now();
  while (sleep_until_stop(stop, asked_every)) {
    beside_();
    if (turned->exchange(false)) {
      asked = clock::now();
      if (!engine_.post([turned] { *turned = true; })) return;
    } else if (clock::now() - asked >= patience) {
      look();
    }
  }
}

void reset_watch::look() {
  std::array<char, bytes_examined> bytes;
  for (int const fd : open_descriptors()) {
    auto const n = ::recv(fd, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
    if (n <= 0) continue;
    if (resets_in({bytes.data(), static_cast<std::size_t>(n)}) < resets_max) continue;
    if (auto const peer = reset_socket(fd); !peer.empty()) was_cut_(peer);
  }
}

}  // namespace muster::net
