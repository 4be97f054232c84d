// RS256 by OpenSSL.
#include "cluster/http/signed_jwt.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <boost/json/serialize.hpp>
#include <memory>

#include "base/text.hpp"
#include "cluster/text.hpp"

namespace muster::cluster {
namespace {

using key_ptr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

/// Without it OpenSSL would ask for a passphrase on the terminal.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

key_ptr read_key(std::string const& pem, std::string const& origin) {
  std::unique_ptr<BIO, decltype(&BIO_free)> const in(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  key_ptr key(in ? PEM_read_bio_PrivateKey(in.get(), nullptr, &no_passphrase, nullptr) : nullptr,
              &EVP_PKEY_free);
  ERR_clear_error();  // the queue is the thread's, and TLS on it reads what others left
  if (!key || !EVP_PKEY_is_a(key.get(), "RSA"))
    throw invalid(origin + " is no RSA key in PEM form without a passphrase");
  return key;
}

std::string rs256(std::string const& text, EVP_PKEY* key, std::string const& origin) {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> const context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  auto const* bytes = reinterpret_cast<unsigned char const*>(text.data());
  std::size_t size = 0;
  std::string signature;
  bool fine = context &&
              EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
              EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1;
  if (fine) {
    signature.resize(size);
    fine = EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                          bytes, text.size()) == 1;
  }
  ERR_clear_error();
  if (!fine) throw invalid(origin + " cannot sign");
  signature.resize(size);
  return signature;
}

}  // namespace

std::string signed_jwt(boost::json::object header, boost::json::object const& claims,
                       std::string const& private_key_pem, std::string const& origin) {
  auto const key = read_key(private_key_pem, origin);
  header["alg"] = "RS256";
  header["typ"] = "JWT";
  auto const text = muster::base64_for_urls(boost::json::serialize(header)) + "." +
                    muster::base64_for_urls(boost::json::serialize(claims));
  return text + "." + muster::base64_for_urls(rs256(text, key.get(), origin));
}

}  // namespace muster::cluster
