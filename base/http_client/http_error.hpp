// Why an exchange of the HTTP client came to nothing: a kind, for code that has to tell, beside the
// sentence, which is for people and may change. Plain data.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>

#include "base/status.hpp"

namespace muster {

enum class http_failure : std::uint8_t {
  none,
  bad_url,
  bad_header,    // it, the method or the token has a line break in it
  bad_tls_file,  // of an authority, a certificate or its key
  name_unknown,  // the system's resolver knows no such host
  refused,       // nobody listens there
  unreachable,   // no connection came about, for another reason
  timed_out,     // at any step
  broke,         // a connection that had come about
  certificate_expired,
  certificate_not_yet_valid,
  certificate_for_another_name,
  certificate_not_accepted,  // for another reason
  tls_failed,                // the handshake, not for the server's certificate
  answer_too_long,
};

struct http_error : status {
  http_failure failure = http_failure::none;
};

template <class T>
using http_result = boost::system::result<T, http_error>;

}  // namespace muster
