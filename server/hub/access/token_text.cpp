#include "server/hub/access/token_text.hpp"

#include <absl/strings/escaping.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <stdexcept>
#include <utility>

#include "base/text.hpp"
#include "server/disk/sha256.hpp"

namespace muster::server {
namespace {

constexpr std::string_view ours = "muster.";
constexpr std::size_t secret_bytes = 32, salt_bytes = 16;

std::string random_bytes(std::size_t n) {
  std::string bytes(n, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(n)) != 1)
    throw std::runtime_error("the system cannot provide random bytes");
  return bytes;
}

std::string digest_of(std::string_view a, std::string_view b) {
  sha256 hash;
  hash.add(a);
  hash.add(b);
  return hash.digest();
}

}  // namespace

std::string new_token_id(std::string_view given, core::role r) {
  return std::string(given.empty() ? core::name(r) : given) + "-" +
         absl::BytesToHexString(random_bytes(3));
}

std::string random_secret() {
  return base64_for_urls(random_bytes(secret_bytes));
}

std::string new_credential(std::string_view id) {
  return std::string(ours) + std::string(id) + "." + random_secret();
}

std::string id_of(std::string_view credential) {
  if (credential.starts_with(ours)) {
    auto const rest = credential.substr(ours.size());
    if (auto const dot = rest.find('.'); dot != std::string_view::npos)
      return std::string(rest.substr(0, dot));
  }
  return "file-" + absl::BytesToHexString(digest_of(credential, {}).substr(0, 4));
}

std::string new_salt() {
  return random_bytes(salt_bytes);
}

void seal(core::token& t, std::string_view credential, std::string salt) {
  t.salt = std::move(salt);
  t.digest = digest_of(t.salt, credential);
}

bool fits(core::token const& t, std::string_view credential) {
  auto const digest = digest_of(t.salt, credential);
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
