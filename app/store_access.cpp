#include "app/store_access.hpp"

#include <utility>

#include "base/bounded_file.hpp"

namespace muster::server {
namespace {

muster::status read(std::filesystem::path const& file, std::string const& flag, std::string& into) {
  if (file.empty()) return {};
  auto text = read_bounded_file(file.string());
  if (text && !text->empty()) {
    into = std::move(*text);
    return {};
  }
  return {code::failed_precondition,
          flag + " " + file.string() + ": " + (text ? "is empty" : text.error().message)};
}

}  // namespace

muster::result<journal::etcd::access> access_to(shared_store const& s) {
  journal::etcd::access a{*s.where, {}, {}, {}, {}};
  for (auto const& r :
       {read(s.password_file, "--store-password-file", a.password),
        read(s.ca, "--store-ca", a.authorities), read(s.certificate, "--store-cert", a.certificate),
        read(s.key, "--store-key", a.key)})
    if (!r.ok()) return r;
  a.password.resize(std::min(a.password.find_first_of("\r\n"), a.password.size()));
  return a;
}

std::string problem_with(shared_store const& s) {
  if (!s.where->tls && !(s.ca.empty() && s.certificate.empty() && s.key.empty()))
    return "--store-ca, --store-cert and --store-key are for TLS: write etcds:// in --store";
  if (s.certificate.empty() != s.key.empty()) return "--store-cert and --store-key belong together";
  if (s.where->user.empty() != s.password_file.empty())
    return "a user in --store (etcd://USER@HOST:2379/PREFIX) and --store-password-file belong "
           "together";
  return {};
}

}  // namespace muster::server
