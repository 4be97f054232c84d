// Names of blobs for tests.
#pragma once

#include <openssl/evp.h>

#include <string>
#include <string_view>

namespace muster::server {

/// Returns the SHA-256 as 32 bytes.
inline std::string hash_of(std::string_view bytes) {
  std::string made(32, '\0');
  EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(made.data()), nullptr,
             EVP_sha256(), nullptr);
  return made;
}

}  // namespace muster::server
