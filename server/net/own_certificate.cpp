#include "server/net/own_certificate.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <memory>

namespace muster::net {
namespace {

constexpr long year = 365L * 24 * 3600;

template <class Write>
std::string pem_of(Write const& write) {
  std::unique_ptr<BIO, decltype(&BIO_free)> const out(BIO_new(BIO_s_mem()), &BIO_free);
  if (!out || write(out.get()) != 1) return {};
  char* text = nullptr;
  auto const size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

bool add_extension(X509* to, int kind, char const* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, to, to, nullptr, nullptr, 0);
  std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> const extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value), &X509_EXTENSION_free);
  return extension && X509_add_ext(to, extension.get(), -1) == 1;
}

// The certificate is valid from an hour ago, because host clocks differ.
bool fill(X509* c, EVP_PKEY* key) {
  std::uint64_t serial = 0;
  auto const* name = reinterpret_cast<unsigned char const*>("muster");
  auto* const subject = X509_get_subject_name(c);
  return RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) == 1 &&
         X509_set_version(c, 2) == 1 &&
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(c), serial) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(c), -3600) &&
         X509_gmtime_adj(X509_getm_notAfter(c), year) && X509_set_pubkey(c, key) == 1 &&
         X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, name, -1, -1, 0) == 1 &&
         X509_set_issuer_name(c, subject) == 1 &&
         add_extension(c, NID_basic_constraints, "critical,CA:TRUE") &&
         add_extension(c, NID_subject_alt_name, "DNS:muster") &&
         X509_sign(c, key, EVP_sha256()) > 0;
}

}  // namespace

muster::result<own_certificate> make_own_certificate() {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> const key(EVP_EC_gen("P-256"),
                                                                &EVP_PKEY_free);
  std::unique_ptr<X509, decltype(&X509_free)> const made(X509_new(), &X509_free);
  if (!key || !made || !fill(made.get(), key.get()))
    return muster::status{muster::code::internal, "a certificate could not be created"};
  return own_certificate{
      pem_of([&](BIO* out) { return PEM_write_bio_X509(out, made.get()); }), pem_of([&](BIO* out) {
        return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
      })};
}

}  // namespace muster::net
