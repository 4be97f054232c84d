#include "launch/cluster/http/google_credentials.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <boost/json/serialize.hpp>
#include <filesystem>
#include <memory>

#include "base/no_password.hpp"
#include "base/text.hpp"
#include "launch/cluster/http/secret_file.hpp"
#include "launch/cluster/resolver_text.hpp"
#include "launch/cluster/text_file.hpp"

namespace muster::cluster {

namespace {

constexpr auto variable = "GOOGLE_APPLICATION_CREDENTIALS";
constexpr auto file_name = "application_default_credentials.json";
constexpr auto google_token_url = "https://oauth2.googleapis.com/token";
constexpr auto scope = "https://www.googleapis.com/auth/cloud-platform";
constexpr auto jwt_grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// Maximum lifetime that Google accepts.
constexpr std::chrono::seconds jwt_lasts{3600};

using key_ptr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

key_ptr read_key(std::string const& pem, std::string const& origin) {
  std::unique_ptr<BIO, decltype(&BIO_free)> const in(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  key_ptr key(in ? PEM_read_bio_PrivateKey(in.get(), nullptr, no_password, nullptr) : nullptr,
              &EVP_PKEY_free);
  ERR_clear_error();  // prevents the thread's TLS code from reading earlier errors
  if (!key || !EVP_PKEY_is_a(key.get(), "RSA"))
    throw invalid(origin + " is not an RSA key in PEM form without a passphrase");
  return key;
}

std::string rs256(std::string const& text, EVP_PKEY* key, std::string const& origin) {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> const context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  auto const* bytes = reinterpret_cast<unsigned char const*>(text.data());
  std::size_t size = 0;
  std::string signature;
  bool fine = context &&
              EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
              EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1;
  if (fine) {
    signature.resize(size);
    fine = EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                          bytes, text.size()) == 1;
  }
  ERR_clear_error();
  if (!fine) throw invalid(origin + " cannot be used to sign a token request");
  signature.resize(size);
  return signature;
}

/// Returns header.claims.signature (RFC 7515, 7519), each in URL-safe base64. Adds "alg" and "typ"
/// to `header`.
/// @throws cluster_error (invalid) if the key is not an RSA key in PEM form, or needs a passphrase;
///   the message begins with `origin` and never contains the key
std::string signed_jwt(json::object header, json::object const& claims,
                       std::string const& private_key_pem, std::string const& origin) {
  auto const key = read_key(private_key_pem, origin);
  header["alg"] = "RS256";
  header["typ"] = "JWT";
  auto const text =
      base64_for_urls(json::serialize(header)) + "." + base64_for_urls(json::serialize(claims));
  return text + "." + base64_for_urls(rs256(text, key.get(), origin));
}

std::string form(std::vector<std::pair<std::string, std::string>> const& fields) {
  std::string body;
  for (auto const& [name, value] : fields)
    body += (body.empty() ? "" : "&") + name + "=" + muster::percent_encoded(value);
  return body;
}

std::string service_account_grant(json_place const& file, std::string const& audience,
                                  time_source const& time) {
  auto const now = std::chrono::floor<std::chrono::seconds>(time.wall().time_since_epoch());
  json::object header, claims;
  if (auto const id = file.text_of("private_key_id"); !id.empty()) header["kid"] = id;
  claims["iss"] = file.at("client_email").text();
  claims["scope"] = scope;
  claims["aud"] = audience;
  claims["iat"] = now.count();
  claims["exp"] = (now + jwt_lasts).count();
  auto const key = file.at("private_key");
  return form({{"grant_type", jwt_grant},
               {"assertion", signed_jwt(std::move(header), claims, key.text(), key.where())}});
}

std::string user_grant(json_place const& file) {
  return form({{"grant_type", "refresh_token"},
               {"client_id", file.at("client_id").text()},
               {"client_secret", file.at("client_secret").text()},
               {"refresh_token", file.at("refresh_token").text()}});
}

}  // namespace

struct google_credentials::key_file {
  std::string path;
  json::value content;

  json_place top() const { return {content, path}; }
};

google_credentials::google_credentials(environment_lookup environment, google_metadata& metadata,
                                       api_limits limits, time_source time)
    : environment_(std::move(environment)),
      metadata_(metadata),
      limits_(limits),
      time_(std::move(time)) {}

std::optional<google_credentials::key_file> google_credentials::find_file() const {
  auto const value = [this](char const* name) { return environment_(name).value_or(""); };
  auto path = value(variable);
  auto const named = !path.empty();
  if (!named) {
    auto folder = value("CLOUDSDK_CONFIG");
    if (auto const home = value("HOME"); folder.empty() && !home.empty())
      folder = home + "/.config/gcloud";
    if (folder.empty()) return {};
    path = folder + "/" + file_name;
    std::error_code unreadable;  // ignored, as in gcloud's libraries
    if (!std::filesystem::is_regular_file(path, unreadable)) return {};
  }
  try {
    return key_file{path, parse_json(read_text_file(path), path)};
  } catch (cluster_error const& e) {
    auto const kind =
        e.kind() == cluster_error::code::missing ? cluster_error::code::denied : e.kind();
    throw cluster_error(kind, (named ? std::string(variable) + ": " : std::string()) + e.what());
  }
}

void google_credentials::refresh(key_file const& file) {
  auto const top = file.top();
  auto const type = top.at("type").text();
  auto url = top.text_of("token_uri");
  if (url.empty()) url = google_token_url;
  api_request request{"POST", url};
  std::string remedy;
  if (type == "service_account") {
    request.body = service_account_grant(top, url, time_);
    remedy = "check that the key of " + file.path +
             " still exists and that this machine's clock is correct";
  } else if (type == "authorized_user") {
    request.body = user_grant(top);
    remedy = "log in again with 'gcloud auth application-default login'";
  } else {
    throw invalid(top.at("type").where() + " is " + cluster::quoted(type) +
                  ", not service_account or authorized_user");
  }
  request.content_type = "application/x-www-form-urlencoded";
  request.secret = true;
  auto s = service();
  s.remedy = [remedy](unsigned status) { return status < 500 ? remedy : std::string(); };
  api_client client(s);
  auto const answer = client.send(request);
  try {
    auto const body = client.read(request, answer);
    token_.take(json_place(body, url), time_.now());
  } catch (cluster_error const& e) {
    if (answer.status != 400) throw;  // OAuth uses status 400 for an invalid grant
    throw cluster_error(cluster_error::code::denied, e.what());
  }
}

std::string google_credentials::token() {
  if (token_.is_valid_at(time_.now())) return token_.text();
  auto const file = find_file();
  if (!file) return metadata_.token();
  refresh(*file);
  return token_.text();
}

api_service google_credentials::service() const {
  return {.limits = limits_, .time = time_};
}

api_service google_credentials::sign_in(std::string const& token_file, std::string const& right) {
  auto service = this->service();
  service.remedy = [right](unsigned status) -> std::string {
    if (status == 401) return "the token is invalid or has expired; get a new one";
    if (status == 403)
      return "grant the service account " + right +
             ", and give the machine the scope cloud-platform";
    return {};
  };
  if (!token_file.empty()) {
    service.token = [token_file] {
      return read_secret(token_file, cluster_error::code::denied, {});
    };
    return service;
  }
  service.token = [this] { return token(); };
  if (auto const file = find_file())
    if (auto const project = file->top().text_of("quota_project_id"); !project.empty())
      service.headers.emplace_back("X-Goog-User-Project", project);
  return service;
}

}  // namespace muster::cluster
