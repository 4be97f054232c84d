// Password callback for OpenSSL's PEM functions. Without a callback, OpenSSL asks on the terminal
// for the password of an encrypted file. Thread-safe.
#pragma once

namespace muster {

/// Makes OpenSSL fail for an encrypted file.
inline int no_password(char*, int, int, void*) {
  return 0;
}

}  // namespace muster
