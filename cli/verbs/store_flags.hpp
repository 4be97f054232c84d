// The etcd access flags of `serve`, `data` and `token`, and the errors of `data` and `token`.
#pragma once

#include <unistd.h>

#include <iostream>

#include "app/configuration.hpp"
#include "app/store_access.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"

namespace muster::cli {

inline void add_store_access(CLI::App& verb, server::shared_store& s) {
  add_value(verb, "--store-ca", s.ca, "FILE",
            "PEM file with the CA certificates that verify etcd (default: the system's)");
  add_value(verb, "--store-cert", s.certificate, "FILE",
            "PEM file with the client certificate for etcd");
  add_value(verb, "--store-key", s.key, "FILE", "PEM file with the private key of --store-cert");
  add_value(verb, "--store-password-file", s.password_file, "FILE",
            "Password of the user in --store: the file's first line");
}

/// `text` has the form of --store. @throws command_error if `text` is invalid or a file cannot be
/// read
inline server::journal::etcd::access store_access(std::string const& text, server::shared_store s) {
  auto where = server::journal::etcd::parse_address(text);
  if (!where) throw command_error(exit_usage, for_terminal(where.error().message));
  s.where = std::move(*where);
  if (auto const wrong = server::problem_with(s); !wrong.empty())
    throw command_error(exit_usage, wrong);
  auto a = server::access_to(s);
  if (!a) throw command_error(exit_usage, for_terminal(a.error().message));
  return std::move(*a);
}

/// Returns a usage error if the operation was refused, otherwise a failure.
inline command_error problem(muster::status const& s) {
  return {s.code == code::failed_precondition ? exit_usage : exit_failed, for_terminal(s.message)};
}

template <class T>
T value_or_throw(muster::result<T> r) {
  if (!r) throw problem(r.error());
  return std::move(*r);
}

/// Returns a callback that ends the process when another process becomes the leader of etcd,
/// because this process must not write afterwards.
inline auto on_leadership_lost(char const* verb) {
  return [verb](std::string const& why) {
    std::cerr << "muster " << verb << ": aborted because " << why << std::endl;
    ::_exit(exit_failed);
  };
}

}  // namespace muster::cli
