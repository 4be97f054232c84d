// Incremental SHA-256. Not thread-safe.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

namespace muster::server {

class sha256 {
 public:
  // The algorithm is fetched only once, because a lookup by name takes longer than the digest of a
  // short string.
  sha256() {
    static auto* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    EVP_DigestInit_ex(context_.get(), algorithm, nullptr);
  }
  void add(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  /// Returns the 32-byte digest. `add` must not be called afterwards.
  std::string digest() {
    std::string made(32, '\0');
    EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(made.data()), nullptr);
    return made;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free};
};

}  // namespace muster::server
