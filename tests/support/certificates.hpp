// Certificates and authorities for TLS tests. Keys are generated, nothing is read from disk. Any
// thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace muster::test {

struct certificate {
  std::string chain_pem, key_pem;
};

struct certificate_request {
  std::string common_name = "muster test";
  /// In OpenSSL syntax.
  std::vector<std::string> names = {"DNS:localhost", "IP:127.0.0.1", "IP:::1"};
  std::chrono::hours starts = std::chrono::hours(-1), ends = std::chrono::hours(24);
};

class authority {
 public:
  explicit authority(std::string const& common_name = "muster test authority");
  ~authority();

  certificate issue(certificate_request const& request = {}) const;
  /// Returns the certificate for a client's CA file.
  std::string const& pem() const { return pem_; }

 private:
  struct keys;
  std::unique_ptr<keys> keys_;
  std::string pem_;
};

certificate self_signed(certificate_request const& request = {});

}  // namespace muster::test
