// The SHA-256 of bytes that come in pieces. One thread.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

namespace muster::server {

class sha256 {
 public:
  // OpenSSL looks for an algorithm by name whenever it is not told which; that takes longer than
  // the digest of a short text.
  sha256() {
    static auto* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    EVP_DigestInit_ex(context_.get(), algorithm, nullptr);
  }
  void add(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  /// Its 32 bytes. Nothing is added afterwards.
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
