// Randomness and digests of OpenSSL, and base64url.
#include "server/hub/access/token_text.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "base/hex.hpp"
#include "base/text.hpp"

namespace muster::server {
namespace {

constexpr std::string_view ours = "muster.";
constexpr std::size_t secret_bytes = 32, salt_bytes = 16, digest_bytes = 32;

std::string random_bytes(std::size_t n) {
  std::string bytes(n, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(n)) != 1)
    throw std::runtime_error("the system gives no random bytes");
  return bytes;
}

// OpenSSL looks for an algorithm by name whenever it is not told which; that takes longer than the
// digest itself.
std::string sha256(std::string_view a, std::string_view b) {
  static auto* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> const context(EVP_MD_CTX_new(),
                                                                                EVP_MD_CTX_free);
  std::string digest(digest_bytes, '\0');
  EVP_DigestInit_ex(context.get(), algorithm, nullptr);
  EVP_DigestUpdate(context.get(), a.data(), a.size());
  EVP_DigestUpdate(context.get(), b.data(), b.size());
  EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

}  // namespace

std::string new_token_id(std::string_view given, core::role r) {
  return std::string(given.empty() ? core::name(r) : given) + "-" + hex(random_bytes(3));
}

std::string new_credential(std::string_view id) {
  return std::string(ours) + std::string(id) + "." + base64_for_urls(random_bytes(secret_bytes));
}

std::string id_of(std::string_view credential) {
  if (credential.starts_with(ours)) {
    auto const rest = credential.substr(ours.size());
    if (auto const dot = rest.find('.'); dot != std::string_view::npos)
      return std::string(rest.substr(0, dot));
  }
  return "file-" + hex(sha256(credential, {}).substr(0, 4));
}

std::string new_salt() {
  return random_bytes(salt_bytes);
}

void seal(core::token& t, std::string_view credential, std::string salt) {
  t.salt = std::move(salt);
  t.digest = sha256(t.salt, credential);
}

bool fits(core::token const& t, std::string_view credential) {
  auto const digest = sha256(t.salt, credential);
  return t.digest.size() == digest.size() &&
         CRYPTO_memcmp(t.digest.data(), digest.data(), digest.size()) == 0;
}

std::string_view bearer_of(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() <= scheme.size() ||
      !equal_ignoring_case(authorization.substr(0, scheme.size()), scheme))
    return {};
  auto rest = authorization.substr(scheme.size());
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  while (rest.ends_with(' ')) rest.remove_suffix(1);
  return rest;
}

}  // namespace muster::server
