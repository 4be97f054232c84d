// The flags that say how etcd is reached, of `serve` and of `data`.
#pragma once

#include "cli/command.hpp"
#include "server/app/configuration.hpp"

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

}  // namespace muster::cli
