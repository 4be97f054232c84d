#include "client/blobs/peer_taking.hpp"

#include <absl/strings/escaping.h>

#include <algorithm>
#include <boost/endian/conversion.hpp>
#include <vector>

#include "client/blobs/memory.hpp"

namespace muster::detail {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::uint64_t rated = std::uint64_t{1} << 20;
constexpr std::size_t tls_buffer = std::size_t{64} << 10;

// Measures the speed of a transfer. `look` throws if the server is faster.
class pace {
 public:
  pace(std::uint64_t size, double server_rate, std::chrono::milliseconds after)
      : size_(static_cast<double>(size)), by_server_(size_ / server_rate), after_(after) {}

  void look(std::size_t got) {
    received_ += static_cast<double>(got);
    std::chrono::duration<double> const past = clock::now() - began_;
    if (past <= after_ || past.count() * (size_ - received_) <= by_server_ * received_) return;
    throw peer_error(std::to_string(static_cast<std::uint64_t>(received_)) + " of " +
                     std::to_string(static_cast<std::uint64_t>(size_)) + " bytes received in " +
                     std::to_string(past.count()) + " s; the server is faster");
  }

 private:
  clock::time_point const began_ = clock::now();
  double const size_, by_server_;
  std::chrono::duration<double> const after_;
  double received_ = 0;
};

void receive_by_tls(peer_socket& from, int fd, std::uint64_t size, pace& of) {
  std::vector<char> buffer(tls_buffer);
  while (size > 0) {
    auto const most = std::min<std::uint64_t>(size, buffer.size());
    auto const got = from.receive(buffer.data(), most, clock::time_point::max());
    of.look(got);
    write_all(fd, {buffer.data(), got});
    size -= got;
  }
}

}  // namespace

file_descriptor peer_value_client::take(peer_place const& from, std::string const& name,
                                        std::uint64_t size, std::string& why) {
  if (is_avoided(from.address)) {
    why = from.address + " was unreachable recently and is not tried again yet";
    return {};
  }
  no_broken_pipes const here;
  try {
    return receive(from, name, size);
    // This can mean that memory, the address or descriptors are unavailable.
  } catch (std::exception const& e) {
    avoid(from.address);
    why =
        absl::BytesToHexString(name) + " cannot be fetched from " + from.address + ": " + e.what();
    return {};
  }
}

file_descriptor peer_value_client::receive(peer_place const& from, std::string const& name,
                                           std::uint64_t size) {
  auto to = peer_socket::connected(peer_address::parse(from.address), patience_.stall);
  auto const by = clock::now() + patience_.stall;
  if (!from.certificate.empty()) to.speak_tls(trusting_tls(from.certificate), false, by);
  to.send(from.ticket + name, by);
  std::uint64_t said = 0;
  to.receive_all(reinterpret_cast<char*>(&said), sizeof said, by);
  if (boost::endian::little_to_native_inplace(said); said != size)
    throw peer_error("the value has " + std::to_string(said) + " bytes, not " +
                     std::to_string(size));
  double rate = 0;
  {
    std::lock_guard const held(mutex_);
    rate = server_rate_;
  }
  pace of(size, rate, patience_.pace_after);
  return filled_memory(name, [&](int fd) {
    if (to.is_tls()) return receive_by_tls(to, fd, size, of);
    to.receive_file(fd, size, [&of](std::size_t got) { of.look(got); });
  });
}

void peer_value_client::record_server_time(std::uint64_t size, std::chrono::duration<double> took) {
  if (size < rated) return;
  std::lock_guard const held(mutex_);
  server_rate_ = static_cast<double>(size) / std::max(took.count(), 1e-3);
}

bool peer_value_client::is_avoided(std::string const& peer) {
  std::lock_guard const held(mutex_);
  auto const it = avoided_.find(peer);
  return it != avoided_.end() && it->second > clock::now();
}

void peer_value_client::avoid(std::string const& peer) {
  std::lock_guard const held(mutex_);
  if (avoided_.size() >= avoided_max) avoided_.clear();
  avoided_[peer] = clock::now() + avoided_for;
}

}  // namespace muster::detail
