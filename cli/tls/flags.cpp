// The flags, which are the same for each verb that has a server to ask.
#include "cli/tls/flags.hpp"

namespace muster::cli {

void add_tls_flags(CLI::App& verb, tls_flags& flags) {
  verb.add_option("--ca", flags.ca,
                  "Who vouches for the server, PEM; without it the system's authorities")
      ->type_name("FILE");
  verb.add_option("--cert", flags.certificate,
                  "Certificate that is shown to a server that asks for one, PEM; needs --key")
      ->type_name("FILE");
  verb.add_option("--key", flags.key, "Private key of --cert, PEM")->type_name("FILE");
}

}  // namespace muster::cli
