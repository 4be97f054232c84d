#include "base/http_client/tls_client.hpp"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <boost/asio/ip/address.hpp>

#include "base/bounded_file.hpp"

namespace muster {

namespace ssl = boost::asio::ssl;

namespace {

template <class Print>
std::string printed(Print const& print) {
  std::unique_ptr<BIO, freed_by<BIO_free>> const out(BIO_new(BIO_s_mem()));
  if (!out || !print(out.get())) return {};
  char* text = nullptr;
  auto const size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string name_text(X509_NAME const* name) {
  return printed([&](BIO* out) { return X509_NAME_print_ex(out, name, 0, XN_FLAG_ONELINE) >= 0; });
}

std::string time_text(ASN1_TIME const* time) {
  return printed([&](BIO* out) { return ASN1_TIME_print(out, time) == 1; });
}

std::string general_name(GENERAL_NAME const* name) {
  return printed(
      [&](BIO* out) { return GENERAL_NAME_print(out, const_cast<GENERAL_NAME*>(name)); });
}

/// Returns, for example, "DNS:localhost, IP Address:127.0.0.1". A long list is truncated.
std::string names_of(X509 const* certificate) {
  constexpr int names_max = 8;
  auto* const names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  if (!names) return "no name";
  std::string text;
  for (int i = 0; i < sk_GENERAL_NAME_num(names) && i < names_max; ++i)
    text += (i ? ", " : "") + general_name(sk_GENERAL_NAME_value(names, i));
  if (sk_GENERAL_NAME_num(names) > names_max) text += ", …";
  GENERAL_NAMES_free(names);
  return text;
}

http_failure failure_of(int verify_error) {
  switch (verify_error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return http_failure::certificate_expired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return http_failure::certificate_not_yet_valid;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return http_failure::certificate_for_another_name;
    default:
      return http_failure::certificate_not_accepted;
  }
}

muster::status cannot_use(std::string const& what, std::string const& path,
                          std::string const& why) {
  return {muster::code::invalid_argument, what + " " + path + ": " + why};
}

/// A file is read once, because it can be a pipe such as a shell's `<(…)`.
muster::result<std::string> contents(std::string const& what, std::string const& path) {
  auto text = read_bounded_file(path);
  if (!text) return cannot_use(what, path, text.error().message);
  return text;
}

/// Adds the certificates and revocation lists in a PEM text. Returns false if there are none.
bool add_authorities(SSL_CTX* context, std::string const& pem) {
  std::unique_ptr<BIO, freed_by<BIO_free>> const in(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  auto* const items = PEM_X509_INFO_read_bio(in.get(), nullptr, nullptr, nullptr);
  if (!items) return false;
  auto* const store = SSL_CTX_get_cert_store(context);
  int added = 0;
  for (int i = 0; i < sk_X509_INFO_num(items); ++i) {
    auto const* const item = sk_X509_INFO_value(items, i);
    added += item->x509 && X509_STORE_add_cert(store, item->x509) == 1;
    added += item->crl && X509_STORE_add_crl(store, item->crl) == 1;
  }
  sk_X509_INFO_pop_free(items, X509_INFO_free);
  return added > 0;
}

muster::status trust(ssl::context& context, std::string const& ca_file) {
  if (ca_file.empty()) {
    boost::system::error_code ec;
    context.set_default_verify_paths(ec);
    if (ec)
      return {muster::code::internal,
              "cannot load the system's certificate authorities: " + ec.message()};
    return {};
  }
  auto const pem = contents("CA file", ca_file);
  if (!pem) return pem.error();
  if (!add_authorities(context.native_handle(), *pem))
    return cannot_use("CA file", ca_file, "contains no PEM certificate");
  return {};
}

muster::status show(ssl::context& context, https_options const& o) {
  if (o.certificate_file.empty() && o.key_file.empty()) return {};
  if (o.certificate_file.empty() || o.key_file.empty())
    return {
        muster::code::invalid_argument,
        "a client certificate needs its private key, and a private key its certificate; pass both"};
  auto const certificate = contents("certificate", o.certificate_file);
  if (!certificate) return certificate.error();
  auto const key = contents("key", o.key_file);
  if (!key) return key.error();
  boost::system::error_code ec;
  context.use_certificate_chain(boost::asio::buffer(*certificate), ec);
  if (ec) return cannot_use("certificate", o.certificate_file, "contains no PEM certificate");
  context.use_private_key(boost::asio::buffer(*key), ssl::context::pem, ec);
  if (ec) return cannot_use("key", o.key_file, "is not the key of " + o.certificate_file);
  return {};
}

}  // namespace

bool is_ip_address(std::string const& host) {
  boost::system::error_code ec;
  boost::asio::ip::make_address(host, ec);
  return !ec;
}

muster::result<std::unique_ptr<ssl::context>> make_client_context(https_options const& options) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  context->set_verify_mode(options.verify ? ssl::verify_peer : ssl::verify_none);
  if (options.verify)
    if (auto bad = trust(*context, options.ca_file); !bad.ok()) return bad;
  if (auto bad = show(*context, options); !bad.ok()) return bad;
  return context;
}

certificate_check::certificate_check(SSL* connection, std::string const& host,
                                     https_options const& options)
    : host_(host), options_(options) {
  auto* const expected = SSL_get0_param(connection);
  if (is_ip_address(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str());
  } else {
    SSL_set_tlsext_host_name(connection, host.c_str());
    X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    X509_VERIFY_PARAM_set1_host(expected, host.c_str(), host.size());
  }
}

bool certificate_check::note(bool accepted, X509_STORE_CTX* context) {
  if (accepted || !fault_.empty()) return accepted;
  auto const error = X509_STORE_CTX_get_error(context);
  auto* const at = X509_STORE_CTX_get_current_cert(context);
  failure_ = failure_of(error);
  fault_ = "the server's certificate was rejected: ";
  fault_ += X509_verify_cert_error_string(error);
  if (!at) return accepted;
  switch (failure_) {
    case http_failure::certificate_for_another_name:
      fault_ += "; it is for " + names_of(at) + ", not for " + host_;
      break;
    case http_failure::certificate_expired:
      fault_ += "; it expired at " + time_text(X509_get0_notAfter(at));
      break;
    case http_failure::certificate_not_yet_valid:
      fault_ += "; it is not valid before " + time_text(X509_get0_notBefore(at));
      break;
    default:
      fault_ += "; it was issued by '" + name_text(X509_get_issuer_name(at)) +
                "', but the trusted authorities are " +
                (options_.ca_file.empty() ? "the system's" : "those of " + options_.ca_file);
  }
  return accepted;
}

}  // namespace muster
