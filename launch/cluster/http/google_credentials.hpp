// Application-default credentials for Google's APIs, used if no token is configured. The
// credentials are the file in GOOGLE_APPLICATION_CREDENTIALS, or the file of
// `gcloud auth application-default login`, or the machine's service account from the metadata
// server.
//
// token() reads the file at each call; tokens are cached until shortly before they expire. Not
// thread-safe; blocks at most for the time in `api_limits`. Errors never contain the file's
// content.
#pragma once

#include <optional>
#include <string>

#include "launch/cluster/http/google_metadata.hpp"

namespace muster::cluster {

class google_credentials {
 public:
  /// `metadata` must outlive this object.
  google_credentials(environment_lookup environment, google_metadata& metadata, api_limits limits,
                     time_source time);

  /// @throws cluster_error (denied) if the file is missing or unreadable, or the account is
  ///   rejected
  /// @throws cluster_error (invalid) if the file is malformed or of an unknown kind
  /// @throws cluster_error for the same reasons as api_client and google_metadata
  std::string token();

  /// Returns an authenticated service, which this object must outlive. Uses the token in
  /// `token_file`. If `token_file` is empty, uses these credentials and the project that pays for
  /// the user's requests.
  /// @param right the permission that error messages mention
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
