#include "cli/tls/authority.hpp"

#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "base/http_client/tls_client.hpp"
#include "base/no_password.hpp"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t name_bytes_max = 64;
constexpr std::size_t hosts_max = 100;
constexpr std::size_t host_bytes_max = 253;
constexpr long day = 24 * 60 * 60;
constexpr long clock_skew = 60 * 60;  // allows for machines whose clocks are behind

using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using x509_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free_all>>;
using extension_ptr = std::unique_ptr<X509_EXTENSION, freed_by<X509_EXTENSION_free>>;

struct pair {
  key_ptr key;
  x509_ptr certificate;
};

muster::status failed(std::string const& what) {
  return {muster::code::failed_precondition, what};
}

muster::status failed(fs::path const& path) {
  return failed(path.string() + ": " + std::strerror(errno));
}

bool is_plain(std::string const& text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [others](unsigned char c) {
    return std::isalnum(c) || others.find(static_cast<char>(c)) != others.npos;
  });
}

muster::status check(certificate_request const& r) {
  auto const bad = [](std::string const& why) {
    return muster::status{muster::code::invalid_argument, why};
  };
  if (r.name.empty() || r.name.size() > name_bytes_max || r.name == "ca" ||
      std::string_view(".-").find(r.name[0]) != std::string_view::npos || !is_plain(r.name, "._-"))
    return bad(
        "name '" + r.name + "': 1 to " + std::to_string(name_bytes_max) +
        " letters, digits, '.', '_' and '-' are allowed, and 'ca' is reserved for the authority");
  if (r.hosts.size() > hosts_max)
    return bad("--host: " + std::to_string(r.hosts.size()) + " names were given, the limit is " +
               std::to_string(hosts_max));
  for (auto const& host : r.hosts)
    if (!is_ip_address(host) &&
        (host.empty() || host.size() > host_bytes_max || !is_plain(host, ".-_*")))
      return bad("--host '" + host + "' is neither a name nor an address");
  return {};
}

bool add(X509* to, X509* issuer, int what, std::string const& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  extension_ptr const e(X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str()));
  return e && X509_add_ext(to, e.get(), -1) == 1;
}

bool set_serial(X509* c) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  // This makes the number positive and its length constant.
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);
  std::unique_ptr<BIGNUM, freed_by<BN_free>> const n(BN_bin2bn(bytes, sizeof bytes, nullptr));
  return n && BN_to_ASN1_INTEGER(n.get(), X509_get_serialNumber(c)) != nullptr;
}

std::string alternative_names(std::vector<std::string> const& hosts) {
  std::string text;
  for (auto const& host : hosts)
    text += (text.empty() ? "" : ",") + std::string(is_ip_address(host) ? "IP:" : "DNS:") + host;
  return text;
}

/// Without an issuer, creates a self-signed authority. Returns null if OpenSSL fails, which is not
/// expected.
x509_ptr make_certificate(EVP_PKEY* key, certificate_request const& r, pair const* issuer) {
  x509_ptr c(X509_new());
  auto* const signed_by = issuer ? issuer->certificate.get() : c.get();
  auto const* const text = reinterpret_cast<unsigned char const*>(r.name.c_str());
  bool ok = c && X509_set_version(c.get(), X509_VERSION_3) == 1 && set_serial(c.get()) &&
            X509_gmtime_adj(X509_getm_notBefore(c.get()), -clock_skew) != nullptr &&
            X509_gmtime_adj(X509_getm_notAfter(c.get()), day * r.days) != nullptr &&
            X509_set_pubkey(c.get(), key) == 1 &&
            X509_NAME_add_entry_by_txt(X509_get_subject_name(c.get()), "CN", MBSTRING_UTF8, text,
                                       -1, -1, 0) == 1 &&
            X509_set_issuer_name(c.get(), X509_get_subject_name(signed_by)) == 1;
  auto const with = [&](int what, std::string const& value) {
    ok = ok && add(c.get(), signed_by, what, value);
  };
  with(NID_basic_constraints, issuer ? "critical,CA:FALSE" : "critical,CA:TRUE,pathlen:0");
  with(NID_key_usage, issuer ? "critical,digitalSignature" : "critical,keyCertSign,cRLSign");
  with(NID_subject_key_identifier, "hash");
  with(NID_authority_key_identifier, "keyid:always");
  if (issuer) with(NID_ext_key_usage, r.hosts.empty() ? "clientAuth" : "serverAuth,clientAuth");
  if (!r.hosts.empty()) with(NID_subject_alt_name, alternative_names(r.hosts));
  ok = ok && X509_sign(c.get(), issuer ? issuer->key.get() : key, EVP_sha256()) > 0;
  return ok ? std::move(c) : nullptr;
}

/// Writes atomically, through a temporary file.
muster::status write(fs::path const& path, std::string_view text, mode_t mode) {
  auto part = path;
  part += "." + std::to_string(::getpid());
  int const fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return failed(part);
  auto const written = ::write(fd, text.data(), text.size());
  bool const whole = written == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  auto bad = whole ? muster::status() : failed(part);
  ::close(fd);
  if (bad.ok() && ::rename(part.c_str(), path.c_str()) != 0) bad = failed(path);
  if (!bad.ok()) ::unlink(part.c_str());
  return bad;
}

muster::status write(fs::path const& directory, std::string const& name, pair const& made) {
  bio_ptr const key(BIO_new(BIO_s_mem())), certificate(BIO_new(BIO_s_mem()));
  if (!made.certificate || !key || !certificate ||
      PEM_write_bio_PKCS8PrivateKey(key.get(), made.key.get(), nullptr, nullptr, 0, nullptr,
                                    nullptr) != 1 ||
      PEM_write_bio_X509(certificate.get(), made.certificate.get()) != 1)
    return {muster::code::internal, "OpenSSL could not create the certificate"};
  auto const text = [](bio_ptr const& b) {
    char* data = nullptr;
    auto const size = BIO_get_mem_data(b.get(), &data);
    return std::string_view(data, static_cast<std::size_t>(size));
  };
  constexpr mode_t secret = 0600, open = 0644;
  if (auto bad = write(directory / (name + ".key"), text(key), secret); !bad.ok()) return bad;
  return write(directory / (name + ".pem"), text(certificate), open);
}

muster::result<pair> read_authority(fs::path const& directory) {
  auto const certificate = directory / "ca.pem", key = directory / "ca.key";
  bio_ptr const certificate_in(BIO_new_file(certificate.c_str(), "r"));
  errno = 0;
  bio_ptr const key_in(BIO_new_file(key.c_str(), "r"));
  bool const key_is_missing = !key_in && errno == ENOENT;
  pair p;
  if (certificate_in)
    p.certificate.reset(PEM_read_bio_X509(certificate_in.get(), nullptr, no_password, nullptr));
  if (key_in) p.key.reset(PEM_read_bio_PrivateKey(key_in.get(), nullptr, no_password, nullptr));
  if (!p.certificate) return failed(certificate.string() + ": cannot be read as a certificate");
  if (key_is_missing)
    return failed(key.string() +
                  " does not exist. Create certificates on the machine that stores it, and copy "
                  "the server's certificate and key from there");
  if (!p.key) return failed(key.string() + ": cannot be read as a private key");
  if (X509_check_private_key(p.certificate.get(), p.key.get()) != 1)
    return failed(key.string() + ": is not the key of " + certificate.string());
  return p;
}

}  // namespace

bool has_authority(fs::path const& directory) {
  std::error_code ignored;
  return fs::exists(directory / "ca.pem", ignored) || fs::exists(directory / "ca.key", ignored);
}

muster::status make_authority(fs::path const& directory, unsigned days) {
  std::error_code ec;
  bool const made = fs::create_directories(directory, ec);
  if (ec) return failed(directory.string() + ": " + ec.message());
  if (made) fs::permissions(directory, fs::perms::owner_all, ec);
  if (has_authority(directory))
    return failed(
        directory.string() +
        " already contains a certificate authority (ca.pem or ca.key); choose another directory");
  pair own;
  own.key.reset(EVP_EC_gen("P-256"));
  own.certificate = make_certificate(own.key.get(), {"Muster authority", {}, days}, nullptr);
  return write(directory, "ca", own);
}

muster::status issue(fs::path const& directory, certificate_request const& r) {
  if (auto bad = check(r); !bad.ok()) return bad;
  auto const authority = read_authority(directory);
  if (!authority) return authority.error();
  int days = 0, seconds = 0;
  auto const* const end = X509_get0_notAfter(authority->certificate.get());
  if (ASN1_TIME_diff(&days, &seconds, nullptr, end) != 1 || days < 1)
    return failed((directory / "ca.pem").string() + ": has expired or will expire within a day");
  auto wanted = r;
  wanted.days = std::min(r.days, static_cast<unsigned>(days));
  pair leaf;
  leaf.key.reset(EVP_EC_gen("P-256"));
  leaf.certificate = make_certificate(leaf.key.get(), wanted, &*authority);
  return write(directory, r.name, leaf);
}

std::vector<std::string> default_hosts() {
  std::vector<std::string> hosts{"localhost", "127.0.0.1", "::1"};
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0 && is_plain(name, ".-_") && name[0] != '\0' &&
      hosts[0] != name)
    hosts.emplace_back(name);
  return hosts;
}

}  // namespace muster::cli
