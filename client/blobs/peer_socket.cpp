// Uses non-blocking sockets, and calls poll() between other calls.
#include "client/blobs/peer_socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <csignal>

#include "base/host_port.hpp"
#include "base/no_password.hpp"

namespace muster::detail {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t piece = std::size_t{1} << 20;

[[noreturn]] void fail(std::string const& what, int code) {
  throw peer_error(what + std::generic_category().message(code));
}

[[noreturn]] void fail_tls(std::string const& what) {
  auto const code = ERR_get_error();
  ERR_clear_error();
  auto const* const why = code == 0 ? nullptr : ERR_reason_error_string(code);
  throw peer_error(what + (why ? why : "TLS failed"));
}

constexpr char const* hung_up = "the other process has closed the connection";

tls_context made_tls(SSL_METHOD const* method) {
  tls_context made(SSL_CTX_new(method), &SSL_CTX_free);
  if (!made || SSL_CTX_set_min_proto_version(made.get(), TLS1_3_VERSION) != 1) fail_tls("");
  return made;
}

std::unique_ptr<BIO, decltype(&BIO_free)> reader(std::string const& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free};
}

using certificate = std::unique_ptr<X509, decltype(&X509_free)>;

certificate certificate_of(std::string const& pem) {
  certificate c(PEM_read_bio_X509(reader(pem).get(), nullptr, no_password, nullptr), &X509_free);
  if (!c) fail_tls("the certificate cannot be read: ");
  return c;
}

sigset_t broken_pipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

bool is_broken_pipe_pending() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGPIPE) == 1;
}

}  // namespace

peer_address peer_address::parse(std::string const& text) {
  auto const parts = host_port::parse(text);
  peer_address made{parts.host, 0};
  auto const* const end = parts.port.data() + parts.port.size();
  auto const [at, failed] = std::from_chars(parts.port.data(), end, made.port);
  bool const port_is_good =
      parts.port.empty() ? !text.ends_with(':') : failed == std::errc() && at == end;
  if (made.host.empty() || made.host.find_first_of("[] ") != std::string::npos || !port_is_good)
    throw std::invalid_argument("expected HOST or HOST:PORT, not '" + text + "'");
  return made;
}

std::string peer_address::text() const {
  return host_port{host, std::to_string(port)}.text();
}

tls_context giving_tls(std::string const& certificate, std::string const& key) {
  auto made = made_tls(TLS_server_method());
  auto const c = certificate_of(certificate);
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> const k(
      PEM_read_bio_PrivateKey(reader(key).get(), nullptr, no_password, nullptr), &EVP_PKEY_free);
  if (!k || SSL_CTX_use_certificate(made.get(), c.get()) != 1 ||
      SSL_CTX_use_PrivateKey(made.get(), k.get()) != 1)
    fail_tls("the key cannot be used: ");
  return made;
}

tls_context trusting_tls(std::string const& certificate) {
  auto made = made_tls(TLS_client_method());
  auto const c = certificate_of(certificate);
  if (X509_STORE_add_cert(SSL_CTX_get_cert_store(made.get()), c.get()) != 1) fail_tls("");
  SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
  return made;
}

no_broken_pipes::no_broken_pipes() : was_pending_(is_broken_pipe_pending()) {
  auto const set = broken_pipe();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

no_broken_pipes::~no_broken_pipes() {
  auto const set = broken_pipe();
  timespec const now{};
  if (!was_pending_ && is_broken_pipe_pending()) sigtimedwait(&set, nullptr, &now);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

peer_socket::peer_socket(file_descriptor socket, clock::duration stall)
    : socket_(std::move(socket)), mark_(socket_.get()), stall_(stall) {
  fcntl(socket_.get(), F_SETFL, fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

peer_socket peer_socket::connected(peer_address const& to, clock::duration stall) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  auto const port = std::to_string(to.port);
  if (int const failed = getaddrinfo(to.host.c_str(), port.c_str(), &hints, &found); failed != 0)
    throw peer_error(gai_strerror(failed));
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> const all(found, &freeaddrinfo);
  std::string why = "the host name has no address";
  for (auto const* a = found; a; a = a->ai_next) {
    try {
      file_descriptor s(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!s) fail("", errno);
      peer_socket made(std::move(s), stall);
      auto const fd = made.socket_.get();
      if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
        if (errno != EINPROGRESS) fail("", errno);
        made.wait(POLLOUT, clock::now() + stall);
        int code = 0;
        socklen_t length = sizeof code;
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) != 0) code = errno;
        if (code != 0) fail("", code);
      }
      return made;
    } catch (peer_error const& e) {
      why = e.what();
    }
  }
  throw peer_error(why);
}

void peer_socket::speak_tls(tls_context context, bool as_server, clock::time_point until) {
  tls_.reset(SSL_new(context.get()));
  if (!tls_ || SSL_set_fd(tls_.get(), socket_.get()) != 1) fail_tls("");
  if (as_server) {
    SSL_set_accept_state(tls_.get());
  } else {
    SSL_set_connect_state(tls_.get());
    if (SSL_set1_host(tls_.get(), "muster") != 1 ||
        SSL_set_tlsext_host_name(tls_.get(), "muster") != 1)
      fail_tls("");
  }
  for (int answer = 0; ERR_clear_error(), (answer = SSL_do_handshake(tls_.get())) != 1;)
    wait_for_tls(answer, until);
}

void peer_socket::send(std::string_view bytes, clock::time_point until) {
  while (!bytes.empty()) {
    if (tls_) {
      std::size_t sent = 0;
      ERR_clear_error();
      auto const answer =
          SSL_write_ex(tls_.get(), bytes.data(), std::min(bytes.size(), piece), &sent);
      if (answer != 1)
        wait_for_tls(answer, until);
      else
        bytes.remove_prefix(sent);
      continue;
    }
    auto const sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    else if (errno == EAGAIN)
      wait(POLLOUT, until);
    else if (errno != EINTR)
      fail("", errno);
  }
}

std::size_t peer_socket::receive(char* into, std::size_t size, clock::time_point until) {
  for (;;) {
    if (tls_) {
      std::size_t got = 0;
      ERR_clear_error();
      auto const answer = SSL_read_ex(tls_.get(), into, size, &got);
      if (answer == 1) return got;
      wait_for_tls(answer, until);
      continue;
    }
    auto const got = recv(socket_.get(), into, size, 0);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) throw peer_error(hung_up);
    if (errno == EAGAIN)
      wait(POLLIN, until);
    else if (errno != EINTR)
      fail("", errno);
  }
}

void peer_socket::receive_all(char* into, std::size_t size, clock::time_point until) {
  while (size > 0) {
    if (clock::now() > until) throw peer_error("timed out");
    auto const got = receive(into, size, until);
    into += got;
    size -= got;
  }
}

void peer_socket::send_file(int fd, std::uint64_t size) {
  // Discards unsent data on close, because it refers to the memory itself, which its owner may
  // overwrite.
  linger const nothing_is_sent_later{1, 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &nothing_is_sent_later,
             sizeof nothing_is_sent_later);
  off_t at = 0;
  while (static_cast<std::uint64_t>(at) < size) {
    auto const left = size - static_cast<std::uint64_t>(at);
    auto const sent = sendfile(socket_.get(), fd, &at, std::min<std::uint64_t>(left, piece));
    if (sent < 0 && errno == EAGAIN)
      wait(POLLOUT, clock::time_point::max());
    else if (sent < 0 && errno != EINTR)
      fail("", errno);
    else if (sent == 0)
      throw peer_error("the file was truncated");
  }
}

void peer_socket::wait_for_end(clock::time_point until) {
  stall_ = until - clock::now();
  char byte = 0;
  receive(&byte, 1, until);
}

peer_socket::pipe_ends peer_socket::make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("", errno);
  pipe_ends made{file_descriptor(ends[0]), file_descriptor(ends[1])};
  fcntl(made.into.get(), F_SETPIPE_SZ, static_cast<int>(piece));  // largest allowed size
  return made;
}

std::size_t peer_socket::fill(pipe_ends const& p, std::uint64_t most) {
  for (;;) {
    auto const got = splice(socket_.get(), nullptr, p.into.get(), nullptr,
                            std::min<std::uint64_t>(most, piece), SPLICE_F_NONBLOCK);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) throw peer_error(hung_up);
    if (errno == EAGAIN)
      wait(POLLIN, clock::time_point::max());
    else if (errno != EINTR)
      fail("", errno);
  }
}

void peer_socket::empty(pipe_ends const& p, int fd, std::size_t bytes) {
  while (bytes > 0) {
    auto const moved = splice(p.out.get(), nullptr, fd, nullptr, bytes, 0);
    if (moved < 0 && errno != EINTR) fail("memory cannot be written: ", errno);
    if (moved > 0) bytes -= static_cast<std::size_t>(moved);
  }
}

void peer_socket::wait(short for_what, clock::time_point until) const {
  auto const by = std::min(until, clock::now() + stall_);
  for (;;) {
    auto const left = std::chrono::ceil<milliseconds>(by - clock::now()).count();
    pollfd p{socket_.get(), for_what, 0};
    int const ready = poll(&p, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready > 0) return;
    if (ready == 0) throw peer_error("timed out");
    if (errno != EINTR) fail("", errno);
  }
}

void peer_socket::wait_for_tls(int answer, clock::time_point until) {
  switch (SSL_get_error(tls_.get(), answer)) {
    case SSL_ERROR_WANT_READ:
      return wait(POLLIN, until);
    case SSL_ERROR_WANT_WRITE:
      return wait(POLLOUT, until);
    case SSL_ERROR_ZERO_RETURN:
    case SSL_ERROR_SYSCALL:
      throw peer_error(hung_up);
    default:
      fail_tls("");
  }
}

}  // namespace muster::detail
