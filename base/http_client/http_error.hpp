// Error of an HTTP exchange: a kind for code, and a message for users that can change between
// versions.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>

#include "base/status.hpp"

namespace muster {

enum class http_failure : std::uint8_t {
  none,
  bad_url,
  bad_header,    // a header, the method or the token contains a line break
  bad_tls_file,  // file that contains a CA, a certificate or a key
  name_unknown,  // the system's resolver does not know the host
  refused,
  unreachable,
  timed_out,
  broke,
  certificate_expired,
  certificate_not_yet_valid,
  certificate_for_another_name,
  certificate_not_accepted,  // the certificate was rejected for a reason not listed above
  tls_failed,                // handshake failed for a reason other than the certificate
  answer_too_long,
};

struct http_error : status {
  http_failure failure = http_failure::none;
};

template <class T>
using http_result = boost::system::result<T, http_error>;

}  // namespace muster
