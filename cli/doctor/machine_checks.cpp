#include "cli/doctor/machine_checks.hpp"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/statvfs.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "app/process_setup.hpp"
#include "base/host_port.hpp"
#include "base/http_client/tls_client.hpp"
#include "base/no_password.hpp"
#include "base/text.hpp"

namespace muster::cli::doctor {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using error_code = boost::system::error_code;

using certificate = std::unique_ptr<X509, freed_by<X509_free>>;

error_code connected(asio::io_context& io, tcp::socket& socket, std::string const& address) {
  auto const at = host_port::parse(address);
  error_code result = asio::error::timed_out;
  tcp::resolver resolver(io);
  resolver.async_resolve(at.host, at.port, [&](error_code failed, tcp::resolver::results_type to) {
    if (failed) {
      result = failed;
      return;
    }
    asio::async_connect(socket, to, [&](error_code e, tcp::endpoint const&) { result = e; });
  });
  io.run_for(patience);
  return result;
}

std::chrono::sys_seconds time_of(ASN1_TIME const* t) {
  std::tm parts{};
  ASN1_TIME_to_tm(t, &parts);
  return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&parts)));
}

finding judge(std::string const& where, X509 const* c) {
  char subject[256] = {};
  X509_NAME_oneline(X509_get_subject_name(c), subject, sizeof subject);
  auto const now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return judge_certificate(where, subject, time_of(X509_get0_notBefore(c)),
                           time_of(X509_get0_notAfter(c)), now);
}

}  // namespace

finding probe_address(std::string const& what, std::string const& address) {
  asio::io_context io(1);
  tcp::socket socket(io);
  auto const failed = connected(io, socket, address);
  if (!failed) return {"ports", result::ok, what + " at " + address + " accepts connections"};
  return {
      "ports", result::problem,
      what + " at " + address + " cannot be reached from here: " + muster::lower(failed.message()),
      "allow this TCP port in the firewalls between the two machines; a server that listens only "
      "on 127.0.0.1 needs a network address in --grpc and --http"};
}

finding check_free_port(std::string const& address) {
  auto const at = host_port::parse(address);
  asio::io_context io(1);
  error_code failed;
  tcp::acceptor acceptor(io);
  auto const ip = asio::ip::make_address(at.host, failed);
  auto const port = muster::parse_number(at.port).value_or(0);
  tcp::endpoint const where(ip, static_cast<std::uint16_t>(port));
  if (!failed) acceptor.open(where.protocol(), failed);
  if (!failed) acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor.bind(where, failed);
  if (!failed) acceptor.listen(1, failed);
  if (!failed) return {"ports", result::ok, address + " is free"};
  return {"ports", result::problem, address + " is in use by a program that is not a Muster server",
          "'ss -ltnp sport = :" + at.port +
              "' shows which program uses it; or give the server another port"};
}

finding check_files() {
  server::raise_file_limit();
  return judge_files("a server started here", server::file_limit(), 0);
}

findings check_foreign_names() {
  constexpr std::pair<char const*, char const*> names[] = {
      {"TF_COORDINATOR_SCHEDULE_START_DELAY", "--start-delay TIME"},
      {"TF_COORDINATOR_SCHEDULE_START_DELAY_MAX", "--start-delay-max TIME"},
      {"TF_COORDINATOR_IGNORE_TRANSIENT_PS_FAILURES", "--transient-dependency-failures N"}};
  findings all;
  for (auto const& [name, flag] : names)
    if (std::getenv(name))
      all.push_back({"settings", result::warning,
                     std::string(name) + " is set, but Muster does not read it",
                     std::string("'muster serve ") + flag + "' replaces it"});
  return all;
}

finding check_disk(std::string const& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  auto there = fs::absolute(path, failed);
  while (!fs::exists(there, failed) && there.has_relative_path()) there = there.parent_path();
  struct statvfs s {};
  if (::statvfs(there.c_str(), &s) != 0)
    return {"disk", result::problem, "cannot check " + path, "check the path and its permissions"};
  return judge_disk(path, std::uint64_t{s.f_bavail} * s.f_frsize,
                    std::uint64_t{s.f_blocks} * s.f_frsize);
}

findings check_certificates(std::string const& file) {
  findings all;
  std::unique_ptr<BIO, freed_by<BIO_free>> const in(BIO_new_file(file.c_str(), "r"));
  while (in) {
    certificate const c(PEM_read_bio_X509(in.get(), nullptr, no_password, nullptr));
    if (!c) break;
    all.push_back(judge(file, c.get()));
  }
  if (all.empty())
    all.push_back({"certificate", result::problem,
                   file + (in ? " contains no PEM certificate" : " cannot be read"),
                   "pass a readable file that contains -----BEGIN CERTIFICATE-----"});
  return all;
}

findings check_https(std::string const& url) {
  auto authority = url.substr(url.find("//") + 2);
  authority = authority.substr(0, authority.find('/'));
  auto at = host_port::parse(authority);
  if (at.port.empty()) authority += ":443";
  asio::io_context io(1);
  asio::ssl::context context(asio::ssl::context::tls_client);
  context.set_verify_mode(asio::ssl::verify_none);  // the certificate is only inspected
  asio::ssl::stream<tcp::socket> stream(io, context);
  auto failed = connected(io, stream.next_layer(), authority);
  if (failed) return {};  // another check reports the failure
  SSL_set_tlsext_host_name(stream.native_handle(), at.host.c_str());
  failed = asio::error::timed_out;
  stream.async_handshake(asio::ssl::stream_base::client, [&](error_code e) { failed = e; });
  io.restart();
  io.run_for(patience);
  certificate const c(failed ? nullptr : SSL_get1_peer_certificate(stream.native_handle()));
  if (c) return {judge(url, c.get())};
  return {{"certificate", result::problem,
           url + " does not use TLS: " + muster::lower(failed.message()),
           "pass --url with http:// if the server does not use TLS"}};
}

}  // namespace muster::cli::doctor
