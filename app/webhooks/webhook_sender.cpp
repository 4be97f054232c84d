#include "app/webhooks/webhook_sender.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <chrono>
#include <utility>

#include "base/bounded_file.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;

constexpr auto answer_within = 5s;
constexpr std::size_t answer_bytes_max = 64 << 10;
constexpr std::size_t secret_bytes_least = 16, secret_bytes_most = 4'096;

std::string_view host_of(std::string_view url) {
  auto const begin = url.find("://");
  if (begin == std::string_view::npos) return {};
  auto rest = url.substr(begin + 3);
  rest = rest.substr(0, rest.find('/'));
  if (rest.starts_with('[')) return rest.substr(0, rest.find(']') + 1);
  return rest.substr(0, rest.find(':'));
}

bool is_of_this_machine(std::string_view host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

bool is_final(unsigned status) {
  return status < 500 && status != 408 && status != 429;
}

// Hides the path, which can be a secret.
std::string without(std::string const& url, std::string text) {
  for (auto at = text.find(url); at != std::string::npos; at = text.find(url))
    text.replace(at, url.size(), shown_url(url));
  return text;
}

}  // namespace

std::string problem_with(webhook_settings const& s, bool insecure) {
  if (s.urls.size() > webhook_settings::urls_max)
    return "--webhook: at most " + std::to_string(webhook_settings::urls_max) +
           " addresses can be given";
  for (auto const& url : s.urls) {
    bool const tls = url.starts_with("https://");
    if (host_of(url).empty() || (!tls && !url.starts_with("http://")))
      return "--webhook " + shown_url(url) + ": must be https://HOST/PATH";
    if (!tls && !insecure && !is_of_this_machine(host_of(url)))
      return "--webhook " + shown_url(url) +
             ": alerts would cross the network unencrypted; use https, or add --insecure";
  }
  if (s.urls.empty() && !s.secret_file.empty())
    return "--webhook-secret-file needs --webhook, whose messages it signs: add it";
  return {};
}

std::string shown_url(std::string const& url) {
  auto const path = url.find('/', url.find("://") == std::string::npos ? 0 : url.find("://") + 3);
  return path == std::string::npos ? url : url.substr(0, path) + "/…";
}

std::string signature(std::string const& secret, std::int64_t unix_seconds, std::string_view body) {
  auto const time = std::to_string(unix_seconds);
  auto const text = time + "." + std::string(body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<unsigned char const*>(text.data()), text.size(), mac.data(), &size);
  std::string made = "t=" + time + ",v1=";
  for (unsigned i = 0; i < size; ++i) {
    made += "0123456789abcdef"[mac[i] >> 4];
    made += "0123456789abcdef"[mac[i] & 15];
  }
  return made;
}

webhook_sender::webhook_sender(webhook_settings settings, tell told)
    : settings_(std::move(settings)),
      tell_(std::move(told)),
      client_({.answer_bytes_max = answer_bytes_max, .ca_file = settings_.ca.string()}),
      fails_(settings_.urls.size()) {}

muster::status webhook_sender::start() {
  if (auto const& path = settings_.secret_file; !path.empty()) {
    auto text = read_bounded_file(path.string());
    while (text && (text->ends_with('\n') || text->ends_with('\r'))) text->pop_back();
    if (!text || text->size() < secret_bytes_least || text->size() > secret_bytes_most)
      return {code::failed_precondition,
              "--webhook-secret-file " + path.string() + ": " +
                  (text ? "must be 16 to 4096 bytes long, not " + std::to_string(text->size())
                        : text.error().message)};
    secret_ = std::move(*text);
  }
  thread_.start([this](std::vector<std::string> all) {
    for (auto const& body : all) {
      post(body);
      --waiting_;
    }
  });
  return {};
}

void webhook_sender::send(std::string body) {
  if (waiting_.fetch_add(1) >= waiting_max) {
    --waiting_;
    ++dropped_;
    return;
  }
  std::vector<std::string> one;
  one.push_back(std::move(body));
  if (!thread_.ask(std::move(one))) --waiting_;
}

// Returns false if the sender is stopping.
bool webhook_sender::pause(int tries) {
  std::unique_lock lock(mutex_);
  auto const length = tries == 0 ? 0s : std::chrono::seconds(1 << (2 * (tries - 1)));
  return !stops_.wait_for(lock, length, [this] { return stopping_; });
}

muster::status webhook_sender::try_to_post(std::string const& url, std::string const& body) {
  http_request q;
  q.method = "POST";
  q.url = url;
  q.body = body;
  q.timeout = answer_within;
  muster::status why;
  for (int tries = 0; tries < tries_max; ++tries) {
    if (!pause(tries)) return {code::cancelled, "the server is stopping"};
    if (!secret_.empty()) {
      auto const now = std::chrono::system_clock::now().time_since_epoch();
      q.headers = {
          {"X-Muster-Signature",
           signature(secret_, std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                     body)}};
    }
    auto const answer = client_.send(q);
    if (answer && answer->ok()) return {};
    why = answer ? muster::status{code::unavailable,
                                  "answered with HTTP status " + std::to_string(answer->status)}
                 : muster::status{answer.error().code, without(url, answer.error().message)};
    if (answer && is_final(answer->status)) break;
  }
  return why;
}

void webhook_sender::post(std::string const& body) {
  for (std::size_t i = 0; i < settings_.urls.size(); ++i) {
    auto const& url = settings_.urls[i];
    auto const done = try_to_post(url, body);
    if (done.code == code::cancelled) return;
    ++(done.ok() ? posted_ : failed_);
    if (fails_[i] == !done.ok()) continue;
    fails_[i] = !done.ok();
    tell_(done.ok(), shown_url(url) + (done.ok() ? " accepts alerts again" : ": " + done.message));
  }
}

void webhook_sender::stop() {
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  stops_.notify_all();
  thread_.stop(false);
}

}  // namespace muster::server
