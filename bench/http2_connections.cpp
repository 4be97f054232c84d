// Frames and the fields of requests follow RFC 9113 and RFC 7541. The client announces a dynamic
// table of size 0, so that the server sends each field as a literal.
#include "bench/http2_connections.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/text.hpp"

namespace muster::bench {

namespace {

constexpr int connecting_max = 64;  // less than the backlog of a server
constexpr int events_max = 512;
constexpr std::size_t head_bytes = 9, message_head_bytes = 5;
constexpr std::uint32_t window = 1u << 30;

enum class frame_type : std::uint8_t {
  data,
  headers,
  priority,
  reset,
  settings,
  push,
  ping,
  goaway,
  update
};
constexpr int no_flags = 0, end_of_stream = 1, ack = 1, end_of_headers = 4;

void put_number(std::string& to, std::uint32_t n, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    to += static_cast<char>(n >> shift & 0xff);
}

void put_frame(std::string& to, frame_type type, int flags, std::uint32_t id,
               std::string_view body) {
  put_number(to, static_cast<std::uint32_t>(body.size()), 3);
  to += static_cast<char>(type);
  to += static_cast<char>(flags);
  put_number(to, id, 4);
  to += body;
}

std::uint32_t number_at(std::string_view in, std::size_t at, int bytes) {
  std::uint32_t n = 0;
  for (int i = 0; i < bytes; ++i)
    n = n << 8 | static_cast<unsigned char>(in[at + static_cast<std::size_t>(i)]);
  return n;
}

void put_text(std::string& to, std::string_view text) {
  to += static_cast<char>(text.size());
  to += text;
}

// Uses the static table of HPACK for the names of the fields.
std::string request_fields(std::string_view method) {
  std::string block = "\x83\x86\x04";  // :method POST, :scheme http, :path
  put_text(block, method);
  block += '\x01';  // :authority
  put_text(block, "localhost");
  block += "\x0f\x10";  // content-type
  put_text(block, "application/grpc");
  block += '\0';
  put_text(block, "te");
  put_text(block, "trailers");
  return block;
}

bool is_ok(std::string_view trailers) {
  constexpr std::string_view name = "grpc-status";
  auto const at = trailers.find(name);
  return at != trailers.npos && trailers.substr(at + name.size())
                                    .starts_with(
                                        "\x01"
                                        "0");
}

std::string greeting() {
  std::string out = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  std::string body;
  for (auto const& [id, value] : {std::pair{1u, 0u}, {4u, window}}) {  // table size, initial window
    put_number(body, id, 2);
    put_number(body, value, 4);
  }
  put_frame(out, frame_type::settings, no_flags, 0, body);
  body.clear();
  put_number(body, window, 4);
  put_frame(out, frame_type::update, no_flags, 0, body);
  return out;
}

}  // namespace

http2_connections::http2_connections(std::string const& server, int count)
    : all_(static_cast<std::size_t>(count)) {
  auto const colon = server.rfind(':');
  auto const port = parse_number(server.substr(colon + 1));
  auto const host = server.starts_with("localhost:") ? "127.0.0.1" : server.substr(0, colon);
  if (colon == std::string::npos || !port || inet_pton(AF_INET, host.c_str(), &address_) != 1)
    throw std::invalid_argument("--server: must be an IPv4 address, or localhost, and a port");
  port_ = htons(static_cast<std::uint16_t>(*port));
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) throw std::runtime_error("cannot create an epoll instance");
}

http2_connections::~http2_connections() {
  for (auto const& c : all_)
    if (c.fd >= 0) ::close(c.fd);
  ::close(epoll_);
}

void http2_connections::connect(int i) {
  auto& c = all_[static_cast<std::size_t>(i)];
  c.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (c.fd < 0) throw std::runtime_error(std::string("socket: ") + std::strerror(errno));
  int const on = 1;
  setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = port_;
  to.sin_addr.s_addr = address_;
  (void)::connect(c.fd, reinterpret_cast<sockaddr*>(&to), sizeof to);
  c.out = greeting();
  c.wants_out = true;
  epoll_event e{};
  e.events = EPOLLIN | EPOLLOUT;
  e.data.u32 = static_cast<std::uint32_t>(i);
  epoll_ctl(epoll_, EPOLL_CTL_ADD, c.fd, &e);
  ++connecting_;
}

void http2_connections::close(int i) {
  auto& c = all_[static_cast<std::size_t>(i)];
  if (c.fd < 0) return;
  ::close(c.fd);
  (c.open ? open_ : connecting_) -= 1;
  auto const streams = std::move(c.streams);
  c = {};
  for (auto const& s : streams) s.done(false, {});
}

void http2_connections::open_all(std::chrono::seconds limit) {
  auto const end = clock::now() + limit;
  std::size_t next = 0;
  while (open_ < count()) {
    if (clock::now() > end)
      throw std::runtime_error(std::to_string(count() - open_) +
                               " connections were not opened within " +
                               std::to_string(limit.count()) + " s");
    for (std::size_t tried = 0; tried < all_.size() && connecting_ < connecting_max; ++tried) {
      if (all_[next].fd < 0) connect(static_cast<int>(next));
      next = (next + 1) % all_.size();
      if (open_ + connecting_ == count()) break;
    }
    poll(20);
  }
}

void http2_connections::call(int i, std::string_view method,
                             google::protobuf::MessageLite const& request, handler done) {
  auto& c = all_[static_cast<std::size_t>(i)];
  auto const id = c.next_stream;
  c.next_stream += 2;
  c.streams.push_back({id, std::move(done), {}});
  put_frame(c.out, frame_type::headers, end_of_headers, id, request_fields(method));
  std::string message(1, '\0');
  put_number(message, static_cast<std::uint32_t>(request.ByteSizeLong()), 4);
  request.AppendToString(&message);
  put_frame(c.out, frame_type::data, end_of_stream, id, message);
  flush(i);
}

void http2_connections::flush(int i) {
  auto& c = all_[static_cast<std::size_t>(i)];
  auto const sent = send(c.fd, c.out.data(), c.out.size(), MSG_NOSIGNAL);
  if (sent > 0) c.out.erase(0, static_cast<std::size_t>(sent));
  bool const wants = !c.out.empty();
  if (wants == c.wants_out) return;
  c.wants_out = wants;
  epoll_event e{};
  e.events = EPOLLIN | (wants ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
  e.data.u32 = static_cast<std::uint32_t>(i);
  epoll_ctl(epoll_, EPOLL_CTL_MOD, c.fd, &e);
}

void http2_connections::read(int i) {
  char buffer[16 << 10];
  for (;;) {
    auto& c = all_[static_cast<std::size_t>(i)];
    auto const got = recv(c.fd, buffer, sizeof buffer, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return close(i);
    std::string_view in(buffer, static_cast<std::size_t>(got));
    std::string joined;
    if (!c.in.empty()) {
      joined = std::exchange(c.in, {}) + std::string(in);
      in = joined;
    }
    auto const fd = c.fd;
    auto const taken = take_frames(i, in);
    if (c.fd != fd) return;  // a handler closed the connection
    c.in.assign(in.substr(taken));
    if (static_cast<std::size_t>(got) < sizeof buffer) return;
  }
}

std::size_t http2_connections::take_frames(int i, std::string_view in) {
  std::size_t at = 0;
  while (in.size() - at >= head_bytes) {
    auto const size = number_at(in, at, 3);
    if (in.size() - at - head_bytes < size) break;
    take_frame(i, static_cast<std::uint8_t>(in[at + 3]), static_cast<std::uint8_t>(in[at + 4]),
               number_at(in, at + 5, 4), in.substr(at + head_bytes, size));
    at += head_bytes + size;
  }
  return at;
}

void http2_connections::take_frame(int i, std::uint8_t type, std::uint8_t flags, std::uint32_t id,
                                   std::string_view body) {
  auto& c = all_[static_cast<std::size_t>(i)];
  switch (static_cast<frame_type>(type)) {
    case frame_type::settings:
      if (flags & ack) return;
      put_frame(c.out, frame_type::settings, ack, 0, {});
      if (!std::exchange(c.open, true)) ++open_, --connecting_;
      return flush(i);
    case frame_type::ping:
      if (flags & ack) return;
      put_frame(c.out, frame_type::ping, ack, 0, body);
      return flush(i);
    case frame_type::data:
      for (auto& s : c.streams)
        if (s.id == id) s.message += body;
      return;
    case frame_type::headers:
      if (flags & end_of_stream) end_stream(i, id, is_ok(body));
      return;
    case frame_type::reset:
      return end_stream(i, id, false);
    default:
      return;
  }
}

void http2_connections::end_stream(int i, std::uint32_t id, bool ok) {
  auto& streams = all_[static_cast<std::size_t>(i)].streams;
  auto const it =
      std::find_if(streams.begin(), streams.end(), [&](stream const& s) { return s.id == id; });
  if (it == streams.end()) return;
  auto const ended = std::move(*it);
  streams.erase(it);
  auto const whole = ended.message.size() >= message_head_bytes;
  ended.done(
      ok, whole ? std::string_view(ended.message).substr(message_head_bytes) : std::string_view());
}

void http2_connections::poll(int milliseconds) {
  epoll_event events[events_max];
  auto const n = epoll_wait(epoll_, events, events_max, milliseconds);
  for (int e = 0; e < n; ++e) {
    auto const i = static_cast<int>(events[e].data.u32);
    auto& c = all_[events[e].data.u32];
    if (c.fd < 0) continue;
    if (events[e].events & (EPOLLERR | EPOLLHUP)) {
      close(i);
      continue;
    }
    if (events[e].events & EPOLLOUT) flush(i);
    if (events[e].events & EPOLLIN) read(i);
  }
}

void http2_connections::run(std::function<bool()> const& enough, std::chrono::seconds limit) {
  auto const end = clock::now() + limit;
  while (!enough()) {
    if (clock::now() > end)
      throw std::runtime_error("the server did not answer all calls within " +
                               std::to_string(limit.count()) + " s");
    poll(20);
  }
}

void http2_connections::run_for(clock::duration span) {
  auto const end = clock::now() + span;
  for (auto now = clock::now(); now < end; now = clock::now())
    poll(
        std::max(1, static_cast<int>(
                        std::chrono::duration_cast<std::chrono::milliseconds>(end - now).count())));
}

}  // namespace muster::bench
