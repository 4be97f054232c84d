// The flags that say how etcd is reached, of `serve`, `data` and `token`.
#pragma once

#include "cli/command.hpp"
#include "cli/table.hpp"
#include "server/app/configuration.hpp"
#include "server/app/store_access.hpp"

namespace muster::cli {

inline void add_store_access(CLI::App& verb, server::shared_store& s) {
  verb.add_option("--store-ca", s.ca, "Authorities of etcd's certificates; else the system's")
      ->type_name("FILE");
  verb.add_option("--store-cert", s.certificate, "Certificate that is shown to etcd")
      ->type_name("FILE");
  verb.add_option("--store-key", s.key, "Its key")->type_name("FILE");
  verb.add_option("--store-password-file", s.password_file,
                  "Password of the user in --store: the file's first line")
      ->type_name("FILE");
}

/// `text` as of --store, with those flags. command_error: wrong usage, or a file cannot be read.
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

}  // namespace muster::cli
