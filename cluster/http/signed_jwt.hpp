// A JSON Web Token signed with RS256 (RFC 7515, 7519), as service accounts ask for tokens. Any
// thread.
#pragma once

#include <boost/json/object.hpp>
#include <string>

namespace muster::cluster {

/// header.claims.signature, each in base64 for URLs; `header` gets "alg" and "typ". invalid: the
/// key is no RSA key in PEM form, or wants a passphrase; `origin` begins the line, the key is never
/// shown.
std::string signed_jwt(boost::json::object header, boost::json::object const& claims,
                       std::string const& private_key_pem, std::string const& origin);

}  // namespace muster::cluster
