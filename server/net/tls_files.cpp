#include "server/net/tls_files.hpp"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <ctime>
#include <sstream>
#include <utility>

#include "base/bounded_file.hpp"
#include "base/no_password.hpp"
#include "server/net/sleep_until_stop.hpp"

namespace muster::net {
namespace {

constexpr std::chrono::seconds look_every{1};

using bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using x509 = std::unique_ptr<X509, decltype(&X509_free)>;
using private_key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

muster::status wrong(std::string const& what, std::string const& path, std::string const& why) {
  return {muster::code::failed_precondition, what + " " + path + ": " + why};
}

muster::result<std::string> read(std::string const& what, std::string const& path) {
  auto text = read_bounded_file(path);
  if (!text) return wrong(what, path, text.error().message);
  return text;
}

bio reader_of(std::string const& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free};
}

x509 first_certificate(std::string const& pem) {
  auto const in = reader_of(pem);
  return {PEM_read_bio_X509(in.get(), nullptr, no_password, nullptr), &X509_free};
}

private_key key_of(std::string const& pem) {
  auto const in = reader_of(pem);
  return {PEM_read_bio_PrivateKey(in.get(), nullptr, no_password, nullptr), &EVP_PKEY_free};
}

std::chrono::system_clock::time_point time_of(ASN1_TIME const* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

}  // namespace

muster::result<tls_material> load_tls(tls_paths const& paths) {
  tls_material m;
  auto certificate = read("certificate", paths.certificate);
  if (!certificate) return certificate.error();
  m.certificate = std::move(*certificate);
  auto const leaf = first_certificate(m.certificate);
  if (!leaf) return wrong("certificate", paths.certificate, "contains no PEM certificate");

  auto key = read("key", paths.key);
  if (!key) return key.error();
  m.key = std::move(*key);
  auto const own = key_of(m.key);
  if (!own)
    return wrong("key", paths.key,
                 m.key.find("ENCRYPTED") == std::string::npos
                     ? "contains no PEM private key"
                     : "is encrypted with a password; store the key without a password, readable "
                       "only by the server");
  if (X509_check_private_key(leaf.get(), own.get()) != 1)
    return wrong("key", paths.key, "does not match the certificate " + paths.certificate);

  if (!paths.client_ca.empty()) {
    auto authority = read("client authority", paths.client_ca);
    if (!authority) return authority.error();
    m.client_ca = std::move(*authority);
    if (!first_certificate(m.client_ca))
      return wrong("client authority", paths.client_ca, "contains no PEM certificate");
  }
  m.not_after = time_of(X509_get0_notAfter(leaf.get()));
  return m;
}

tls_files::tls_files(tls_paths paths, tls_material loaded, listener tell)
    : paths_(std::move(paths)),
      tell_(std::move(tell)),
      current_(std::make_shared<tls_material const>(std::move(loaded))),
      thread_([this](std::stop_token const& stop) {
        while (sleep_until_stop(stop, look_every)) look();
      }) {}

std::shared_ptr<tls_material const> tls_files::current() const {
  std::lock_guard const lock(mutex_);
  return current_;
}

// Returns a string that changes with every replacement, including renames and changed links.
std::string tls_files::signature() const {
  std::ostringstream text;
  for (auto const* path : {&paths_.certificate, &paths_.key, &paths_.client_ca}) {
    struct stat s {};
    if (path->empty() || ::stat(path->c_str(), &s) != 0) s = {};
    text << s.st_dev << ' ' << s.st_ino << ' ' << s.st_size << ' ' << s.st_mtim.tv_sec << ' '
         << s.st_mtim.tv_nsec << ' ' << s.st_ctim.tv_sec << ' ' << s.st_ctim.tv_nsec << '\n';
  }
  return text.str();
}

void tls_files::look() {
  auto const before = signature();
  if (before == seen_) return;
  auto loaded = load_tls(paths_);
  if (signature() != before) return;
  seen_ = before;
  if (!loaded)
    return tell_(true, loaded.error().message + "; the previous certificate stays in use");
  auto const had = current();
  if (loaded->certificate == had->certificate && loaded->key == had->key &&
      loaded->client_ca == had->client_ca)
    return;
  bool const expired = loaded->expired();
  auto fresh = std::make_shared<tls_material const>(std::move(*loaded));
  {
    std::lock_guard const lock(mutex_);
    current_ = std::move(fresh);
  }
  tell_(expired, "certificate " + paths_.certificate +
                     " was replaced; new connections use the new certificate" +
                     (expired ? ", but it has expired" : ""));
}

}  // namespace muster::net
