// Replacements for `recvmsg`, `sendmsg`, `SSL_read`, `SSL_write` and `close`; connection_guard.hpp
// explains why. The gRPC library calls the replacements because the dynamic linker prefers the
// program's definitions to those of libraries.
#include "server/net/inspect/intercepted_reads.hpp"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "server/net/inspect/connection_guard.hpp"

namespace muster::net {
namespace {

template <class Function>
Function* next(char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool is_accepted(guarded_connection& c, msghdr const& message, std::size_t bytes) {
  for (std::size_t i = 0; i < message.msg_iovlen && bytes > 0; ++i) {
    auto const n = std::min(bytes, message.msg_iov[i].iov_len);
    if (!c.received({static_cast<char const*>(message.msg_iov[i].iov_base), n})) return false;
    bytes -= n;
  }
  return true;
}

void note_sent(guarded_connection& c, msghdr const& message, std::size_t bytes) {
  for (std::size_t i = 0; i < message.msg_iovlen && bytes > 0; ++i) {
    auto const n = std::min(bytes, message.msg_iov[i].iov_len);
    c.sent({static_cast<char const*>(message.msg_iov[i].iov_base), n});
    bytes -= n;
  }
}

bool has_room(msghdr const& message) {
  for (std::size_t i = 0; i < message.msg_iovlen; ++i)
    if (message.msg_iov[i].iov_len > 0) return true;
  return false;
}

std::string certificate_name(SSL const* ssl) {
  auto* const certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return {};
  std::array<char, 256> name{};
  auto const n = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                           name.data(), name.size());
  return n > 0 ? std::string(name.data(), static_cast<std::size_t>(n)) : std::string();
}

}  // namespace

void intercept_reads() {}

}  // namespace muster::net

extern "C" ssize_t recvmsg(int socket, msghdr* message, int flags) {
  static auto* const system = muster::net::next<ssize_t(int, msghdr*, int)>("recvmsg");
  auto const n = system(socket, message, flags);
  auto* const c = muster::net::guarded(socket);
  // The error queue contains no stream data.
  if (c == nullptr || (flags & (MSG_PEEK | MSG_ERRQUEUE))) return n;
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return n;
  // gRPC 1.51 also reads into empty buffers, where 0 does not mean the end of the stream.
  if (n == 0 && !muster::net::has_room(*message)) return n;
  if (n <= 0) {
    int const error = errno;
    if (!c->is_tls()) c->ended();  // TLS data that arrived earlier may not be decrypted yet
    errno = error;
    return n;
  }
  bool const ok = c->is_tls() ? !c->is_cut()
                              : muster::net::is_accepted(*c, *message, static_cast<std::size_t>(n));
  if (ok) return n;
  errno = ECONNRESET;
  return -1;
}

extern "C" ssize_t sendmsg(int socket, msghdr const* message, int flags) {
  static auto* const system = muster::net::next<ssize_t(int, msghdr const*, int)>("sendmsg");
  auto const n = system(socket, message, flags);
  if (n <= 0) return n;
  auto* const c = muster::net::guarded(socket);
  if (c != nullptr && !c->is_tls())
    muster::net::note_sent(*c, *message, static_cast<std::size_t>(n));
  return n;
}

extern "C" int close(int descriptor) {
  // An atomic is used instead of a guarded static, so that close also works after a fork.
  static std::atomic<int (*)(int)> system = nullptr;
  auto* call = system.load();
  if (call == nullptr) system = call = muster::net::next<int(int)>("close");
  muster::net::closing(descriptor);
  return call(descriptor);
}

extern "C" int SSL_read(SSL* ssl, void* buffer, int size) {
  // Calls SSL_read_ex, because it can be found even if OpenSSL is linked statically.
  std::size_t bytes = 0;
  if (SSL_read_ex(ssl, buffer, static_cast<std::size_t>(std::max(size, 0)), &bytes) != 1) return -1;
  int const n = static_cast<int>(bytes);
  auto* const c = muster::net::guarded_session(ssl);
  if (c == nullptr) return n;
  if (!c->mark_certificate_checked()) {
    auto const name = muster::net::certificate_name(ssl);
    if (!name.empty()) c->shown(name);
  }
  if (c->received({static_cast<char const*>(buffer), static_cast<std::size_t>(n)})) return n;
  ERR_raise(ERR_LIB_USER, ERR_R_OPERATION_FAIL);
  return -1;
}

extern "C" int SSL_write(SSL* ssl, void const* buffer, int size) {
  std::size_t bytes = 0;
  if (SSL_write_ex(ssl, buffer, static_cast<std::size_t>(std::max(size, 0)), &bytes) != 1)
    return -1;
  if (auto* const c = muster::net::guarded_session(ssl))
    c->sent({static_cast<char const*>(buffer), bytes});
  return static_cast<int>(bytes);
}
