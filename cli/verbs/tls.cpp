// muster tls: creates a private authority and its certificates, for clusters that have no
// certificates.
#include <iostream>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/tls/authority.hpp"

namespace muster::cli {
namespace {

constexpr unsigned authority_days = 3'650;

struct tls_options {
  std::vector<std::string> words, hosts;
  unsigned days = 365;
};

void must(muster::status const& done) {
  if (done.ok()) return;
  bool const usage = done.code == muster::code::invalid_argument;
  throw command_error(usage ? exit_usage : exit_failed, done.message);
}

int init(parsed_action const& words, tls_options const& o) {
  std::filesystem::path const directory = words.need(0, "DIR");
  bool const fresh = !has_authority(directory);
  if (fresh) must(make_authority(directory, std::max(authority_days, o.days)));
  must(issue(directory, {"server", o.hosts.empty() ? default_hosts() : o.hosts, o.days}));
  must(issue(directory, {"worker", {}, o.days}));
  must(issue(directory, {"client", {}, o.days}));
  auto const at = [&](char const* file) { return (directory / file).string(); };
  auto const& host =
      o.hosts.empty() ? std::string("localhost") : o.hosts.front();  // a name in the certificate
  std::cout << at("ca.pem") << (fresh ? " is a new authority" : " is the existing authority")
            << "; server, worker and client have new certificates\n"
            << "  muster serve --tls-cert " << at("server.pem") << " --tls-key " << at("server.key")
            << " --tls-client-ca " << at("ca.pem") << "\n"
            << "  muster worker --ca " << at("ca.pem") << " --cert " << at("worker.pem")
            << " --key " << at("worker.key") << "\n"
            << "  muster jobs --url https://" << host << ":8477 --ca " << at("ca.pem") << " --cert "
            << at("client.pem") << " --key " << at("client.key") << '\n';
  if (fresh)
    std::cout << "anyone who has " << at("ca.key")
              << " can issue trusted certificates: move it to a safe place\n";
  return exit_ok;
}

int issue_one(parsed_action const& words, tls_options const& o) {
  std::filesystem::path const directory = words.need(0, "DIR");
  auto const& name = words.need(1, "NAME");
  must(issue(directory, {name, o.hosts, o.days}));
  std::cout << (directory / (name + ".pem")).string() << '\n';
  return exit_ok;
}

int run_tls(tls_options& o) {
  parsed_action const words("tls", o.words, {{"init", 1}, {"issue", 2}});
  return words.action() == "init" ? init(words, o) : issue_one(words, o);
}

}  // namespace

void add_tls(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "tls",
               "Create a private certificate authority and certificates for TLS", run_tls);
  add_value(*verb, "action", o->words, "init DIR | issue DIR NAME", "What to do");
  add_repeated(*verb, "--host", o->hosts, "NAME",
               "Name or address of the server; may be repeated (init: localhost, 127.0.0.1, ::1 "
               "and this machine's name; issue: none, for a client)")
      ->configurable(false);
  add_number(*verb, "--days", o->days,
             "Days until certificates expire; an authority is valid for at least 3650 days", 1,
             certificate_days_max)
      ->capture_default_str()
      ->configurable(false);
  verb->footer(
      "init creates an authority (ca.pem, ca.key), and a certificate (.pem) and a key (.key) for\n"
      "server, worker and client. If the directory contains an authority, init keeps it and "
      "replaces "
      "only\n"
      "the certificates. A running server uses a new certificate within two seconds.\n"
      "Examples:\n"
      "  muster tls init /etc/muster/tls --host muster.example --host 10.0.0.5\n"
      "  muster tls issue /etc/muster/tls ci --days 30");
}

}  // namespace muster::cli
