#include "tests/support/certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <stdexcept>

namespace muster::test {

namespace {

using key_ptr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using x509_ptr = std::unique_ptr<X509, decltype(&X509_free)>;

void check(bool fine, char const* what) {
  if (!fine) throw std::runtime_error(std::string("certificates: ") + what);
}

key_ptr make_key() {
  key_ptr key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  check(key != nullptr, "no key");
  return key;
}

template <class Write>
std::string pem_of(Write const& write) {
  std::unique_ptr<BIO, decltype(&BIO_free)> const out(BIO_new(BIO_s_mem()), &BIO_free);
  check(out && write(out.get()) == 1, "cannot be written");
  char* text = nullptr;
  auto const size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  return pem_of([&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

std::string pem_of(EVP_PKEY* key) {
  return pem_of([&](BIO* out) {
    return PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

void set_name(X509_NAME* name, std::string const& common_name) {
  auto const* bytes = reinterpret_cast<unsigned char const*>(common_name.c_str());
  check(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, bytes, -1, -1, 0) == 1, "name");
}

void add_extension(X509* to, X509* issuer, int kind, std::string const& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  auto* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  check(extension && X509_add_ext(to, extension, -1) == 1, "extension");
  X509_EXTENSION_free(extension);
}

// Signs a certificate; without an issuer it is self-signed.
x509_ptr make(certificate_request const& r, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key,
              bool may_sign) {
  static std::atomic<long> serial{1};
  x509_ptr made(X509_new(), &X509_free);
  auto* const c = made.get();
  X509_set_version(c, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(c), ++serial);
  using std::chrono::seconds;
  X509_gmtime_adj(X509_getm_notBefore(c), seconds(r.starts).count());
  X509_gmtime_adj(X509_getm_notAfter(c), seconds(r.ends).count());
  X509_set_pubkey(c, key);
  set_name(X509_get_subject_name(c), r.common_name);
  X509_set_issuer_name(c, X509_get_subject_name(issuer ? issuer : c));
  add_extension(c, issuer ? issuer : c, NID_basic_constraints,
                may_sign ? "critical,CA:TRUE" : "CA:FALSE");
  std::string names;
  for (auto const& name : r.names) names += (names.empty() ? "" : ",") + name;
  if (!names.empty()) add_extension(c, issuer ? issuer : c, NID_subject_alt_name, names);
  check(X509_sign(c, issuer ? issuer_key : key, EVP_sha256()) > 0, "cannot be signed");
  return made;
}

}  // namespace

struct authority::keys {
  key_ptr key;
  x509_ptr certificate;
};

authority::authority(std::string const& common_name) {
  auto key = make_key();
  auto own = make({common_name, {}}, key.get(), nullptr, nullptr, true);
  pem_ = pem_of(own.get());
  keys_ = std::make_unique<keys>(keys{std::move(key), std::move(own)});
}

authority::~authority() = default;

certificate authority::issue(certificate_request const& request) const {
  auto const key = make_key();
  auto const made = make(request, key.get(), keys_->certificate.get(), keys_->key.get(), false);
  return {pem_of(made.get()), pem_of(key.get())};
}

certificate self_signed(certificate_request const& request) {
  auto const key = make_key();
  return {pem_of(make(request, key.get(), nullptr, nullptr, false).get()), pem_of(key.get())};
}

}  // namespace muster::test
