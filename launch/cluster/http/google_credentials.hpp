// Application-default credentials: who asks Google's APIs where nobody names a token. A file that
// GOOGLE_APPLICATION_CREDENTIALS names, else the one that `gcloud auth application-default login`
// leaves, else this machine's service account, as the metadata server knows it.
//
// The file is read anew whenever a token is due; tokens are kept until shortly before they expire.
// Used by one thread at a time; blocks for as long as `api_limits` allow. What is in the file is
// never shown.
#pragma once

#include <optional>
#include <string>

#include "launch/cluster/http/google_metadata.hpp"

namespace muster::cluster {

class google_credentials {
 public:
  /// `metadata` must outlive it.
  google_credentials(environment_lookup environment, google_metadata& metadata, api_limits limits,
                     time_source time);

  /// denied: the file is not there or not readable, or the account is refused; invalid: the file is
  /// malformed or of a kind that is not known; else as api_client and google_metadata.
  std::string token();

  /// A service whose requests are signed in: with the token of `token_file` when one is named, else
  /// with one of these credentials and the project that pays for a user's requests. `right` is the
  /// permission that a refusal is explained with. Must outlive the service.
  api_service sign_in(std::string const& token_file, std::string const& right);

 private:
  struct key_file;
  api_service service() const;
  std::optional<key_file> find_file() const;
  void refresh(key_file const& file);

  environment_lookup const environment_;
  google_metadata& metadata_;
  api_limits const limits_;
  time_source const time_;
  access_token token_;
};

}  // namespace muster::cluster
