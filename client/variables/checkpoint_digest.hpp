// Incremental SHA-256. For checkpoint_files.cpp.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace muster::detail {

class sha256 {
 public:
  sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    check(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void add(std::string_view bytes) {
    check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  /// Returns 64 hexadecimal digits. No data can be added afterwards.
  std::string digits() {
    unsigned char raw[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    check(EVP_DigestFinal_ex(context_.get(), raw, &size) == 1);
    std::string text;
    for (unsigned i = 0; i < size; ++i) {
      text += "0123456789abcdef"[raw[i] >> 4];
      text += "0123456789abcdef"[raw[i] & 15];
    }
    return text;
  }

 private:
  static void check(bool good) {
    if (!good) throw std::runtime_error("OpenSSL cannot compute SHA-256");
  }

  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

inline std::string sha256_of(std::string_view bytes) {
  sha256 hash;
  hash.add(bytes);
  return hash.digits();
}

}  // namespace muster::detail
