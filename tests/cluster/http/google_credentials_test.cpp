#include "launch/cluster/http/google_credentials.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/text.hpp"
#include "tests/cluster/http/tpu_fixture.hpp"

namespace muster::testing {
namespace {

using code = cluster_error::code;
using key_ptr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

std::string pem_of(EVP_PKEY* key, EVP_CIPHER const* cipher = nullptr) {
  std::unique_ptr<BIO, decltype(&BIO_free)> const out(BIO_new(BIO_s_mem()), &BIO_free);
  unsigned char word[] = "secret";
  PEM_write_bio_PKCS8PrivateKey(out.get(), key, cipher,
                                cipher ? reinterpret_cast<char*>(word) : nullptr, cipher ? 6 : 0,
                                nullptr, nullptr);
  char* text = nullptr;
  auto const size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

bool signed_by(EVP_PKEY* key, std::string const& text, std::string const& signature) {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> const context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), reinterpret_cast<unsigned char const*>(signature.data()),
                          signature.size(), reinterpret_cast<unsigned char const*>(text.data()),
                          text.size()) == 1;
}

std::string field(std::string const& body, std::string const& name) {
  auto const at = ("&" + body).find("&" + name + "=");
  if (at == std::string::npos) return "missing";
  auto const from = at + name.size() + 1;
  return percent_decoded(body.substr(from, body.find('&', from) - from), true).value_or("bad");
}

class google_sign_in : public tpu {
 protected:
  google_sign_in() { answers(200, R"({"access_token":"granted","expires_in":3600})"); }

  void answers(unsigned status, std::string const& body) { reply("/token", {status, body}); }
  std::string token_url() const { return url() + "/token"; }

  std::string account_json(std::string const& key) const {
    boost::json::object o{{"type", "service_account"},
                          {"client_email", "robot@my-project.iam"},
                          {"private_key_id", "key-7"},
                          {"private_key", key},
                          {"token_uri", token_url()}};
    return boost::json::serialize(o);
  }
  std::string user_json() const {
    boost::json::object o{{"type", "authorized_user"}, {"client_id", "cid"},
                          {"client_secret", "hush&"},  {"refresh_token", "again"},
                          {"token_uri", token_url()},  {"quota_project_id", "payer"}};
    return boost::json::serialize(o);
  }
  std::string token(std::map<std::string, std::string> variables) {
    auto const environment = machine(std::move(variables));
    cluster::google_metadata metadata(environment, {}, time_.source());
    return cluster::google_credentials(environment, metadata, {}, time_.source()).token();
  }
  std::string fault(std::string const& content, code expected) {
    auto const file = files_.write("bad.json", content);
    auto const line = fault_of(
        [&] {
          token({{"GOOGLE_APPLICATION_CREDENTIALS", file}});
        },
        expected);
    EXPECT_FALSE(holds(line, "hush")) << line;
    EXPECT_FALSE(holds(line, "PRIVATE")) << line;
    return line;
  }
  http_seen grant() const {
    for (auto const& s : server_.seen())
      if (s.target == "/token") return s;
    ADD_FAILURE() << "no token was requested";
    return {};
  }

  temporary_directory files_;
  key_ptr key_{EVP_RSA_gen(2048), &EVP_PKEY_free};
};

TEST_F(google_sign_in, a_service_account_signs_its_grant_with_its_key) {
  time_.wall(std::chrono::sys_days(std::chrono::year(2026) / 11 / 22));
  auto const file = files_.write("key.json", account_json(pem_of(key_.get())));
  EXPECT_EQ(token({{"GOOGLE_APPLICATION_CREDENTIALS", file}}), "granted");
  auto const asked = grant();
  EXPECT_EQ(asked.method, "POST");
  EXPECT_EQ(asked.headers.at("content-type"), "application/x-www-form-urlencoded");
  EXPECT_EQ(field(asked.body, "grant_type"), "urn:ietf:params:oauth:grant-type:jwt-bearer");
  auto const jwt = field(asked.body, "assertion");
  auto const dot = jwt.find('.'), last = jwt.rfind('.');
  ASSERT_LT(dot, last);
  EXPECT_EQ(from_base64(jwt.substr(0, dot)), R"({"kid":"key-7","alg":"RS256","typ":"JWT"})");
  EXPECT_EQ(from_base64(jwt.substr(dot + 1, last - dot - 1)),
            R"({"iss":"robot@my-project.iam",)"
            R"("scope":"https://www.googleapis.com/auth/cloud-platform","aud":")" +
                token_url() + R"(","iat":1795305600,"exp":1795309200})");
  EXPECT_TRUE(
      signed_by(key_.get(), jwt.substr(0, last), from_base64(jwt.substr(last + 1)).value_or("")));
}

TEST_F(google_sign_in, a_user_sends_the_refresh_token) {
  auto const file = files_.write("user.json", user_json());
  EXPECT_EQ(token({{"GOOGLE_APPLICATION_CREDENTIALS", file}}), "granted");
  EXPECT_EQ(grant().body,
            "grant_type=refresh_token&client_id=cid&client_secret=hush%26&refresh_token=again");
}

TEST_F(google_sign_in, named_file_precedes_gcloud_and_gcloud_precedes_the_machine) {
  EXPECT_EQ(token({}), "machine-token");
  EXPECT_EQ(token({{"HOME", files_.path()}}), "machine-token");
  std::filesystem::create_directories(files_.path() + "/.config/gcloud");
  files_.write(".config/gcloud/application_default_credentials.json", user_json());
  EXPECT_EQ(token({{"HOME", files_.path()}}), "granted");
  EXPECT_EQ(token({{"CLOUDSDK_CONFIG", files_.path() + "/.config/gcloud"}}), "granted");
  EXPECT_EQ(token({{"HOME", files_.path()}, {"CLOUDSDK_CONFIG", files_.path()}}), "machine-token");
  EXPECT_TRUE(holds(fault_of(
                        [&] {
                          token({{"HOME", files_.path()},
                                 {"GOOGLE_APPLICATION_CREDENTIALS", files_.path() + "/none"}});
                        },
                        code::denied),
                    "GOOGLE_APPLICATION_CREDENTIALS: "));
}

TEST_F(google_sign_in, token_is_cached_and_the_file_is_read_again_when_it_expires) {
  auto const file = files_.write("user.json", user_json());
  auto const environment = machine({{"GOOGLE_APPLICATION_CREDENTIALS", file}});
  cluster::google_metadata metadata(environment, {}, time_.source());
  cluster::google_credentials credentials(environment, metadata, {}, time_.source());
  credentials.token();
  time_.advance(3500s);
  credentials.token();
  EXPECT_EQ(asked("/token"), 1u);
  time_.advance(41s);
  std::filesystem::remove(file);
  fault_of([&] { credentials.token(); }, code::denied);
}

TEST_F(google_sign_in, malformed_file_error_names_file_and_field_and_no_secret) {
  EXPECT_TRUE(holds(fault("{", code::invalid), "bad.json: not JSON"));
  EXPECT_TRUE(holds(fault("{}", code::missing), "bad.json: type is missing"));
  EXPECT_TRUE(holds(fault(R"({"type":"external_account"})", code::invalid),
                    "type is 'external_account', not service_account or authorized_user"));
  EXPECT_TRUE(holds(fault(R"({"type":"service_account","client_email":"a"})", code::missing),
                    "private_key is missing"));
  EXPECT_TRUE(holds(fault(account_json("hush"), code::invalid), "private_key is not an RSA key"));
  key_ptr const other(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  EXPECT_TRUE(holds(fault(account_json(pem_of(other.get())), code::invalid), "is not an RSA key"));
  EXPECT_TRUE(holds(fault(account_json(pem_of(key_.get(), EVP_aes_128_cbc())), code::invalid),
                    "without a passphrase"));
  EXPECT_TRUE(holds(fault(R"({"type":"authorized_user","client_id":"a","client_secret":"hush",
                              "refresh_token":"r","token_uri":"http://example.com/"})",
                          code::invalid),
                    "can be sent only over https://"));
}

TEST_F(google_sign_in, refused_grant_error_gives_the_reason_and_the_fix) {
  answers(400, R"({"error":"invalid_grant","error_description":"Token has been revoked."})");
  auto const user = fault(user_json(), code::denied);
  EXPECT_TRUE(holds(user, "400: Token has been revoked.; log in again with 'gcloud auth")) << user;
  auto const account = fault(account_json(pem_of(key_.get())), code::denied);
  EXPECT_TRUE(holds(account, " still exists and that this machine's clock is correct")) << account;
  answers(200, R"({"expires_in":1})");
  EXPECT_TRUE(holds(fault(user_json(), code::missing), "access_token is missing"));
  answers(503, "");
  fault(user_json(), code::unreachable);
}

TEST_F(google_sign_in, resolvers_send_the_token_and_the_billing_project) {
  node("n", ready(endpoints({"10.2.3.4"})));
  auto const environment =
      machine({{"GOOGLE_APPLICATION_CREDENTIALS", files_.write("user.json", user_json())}});
  tpu_resolver r(environment, with(names{"n"}));
  EXPECT_EQ(r.cluster_spec().size(), 1u);
  EXPECT_EQ(last().headers.at("authorization"), "Bearer granted");
  EXPECT_EQ(last().headers.at("x-goog-user-project"), "payer");
  r.cluster_spec();
  EXPECT_EQ(asked("/token"), 1u) << "the token is cached between requests";
  auto o = with(names{"n"});
  o.tpu.token_file = files_.write("token", "given");
  tpu_resolver(environment, o).cluster_spec();
  EXPECT_EQ(last().headers.at("authorization"), "Bearer given");
}

}  // namespace
}  // namespace muster::testing
