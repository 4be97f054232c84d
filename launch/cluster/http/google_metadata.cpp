#include "launch/cluster/http/google_metadata.hpp"

#include <algorithm>

#include "launch/cluster/resolver_text.hpp"

namespace muster::cluster {

namespace {

constexpr auto flavor_header = "Metadata-Flavor";
/// Short time limits, because a server on this machine would answer immediately.
constexpr std::chrono::milliseconds try_max{2000}, total_max{10'000};

/// Minimum remaining lifetime of a cached token.
constexpr std::chrono::seconds reserve{60};
constexpr std::chrono::seconds age_max{24 * 3600};

std::string metadata_base(environment_lookup const& environment) {
  for (auto const* name : {"GCE_METADATA_HOST", "GCE_METADATA_IP"})
    if (auto const value = environment(name); value && !value->empty())
      return "http://" + *value + "/computeMetadata/v1/";
  return "http://metadata.google.internal/computeMetadata/v1/";
}

api_service metadata_service(api_limits limits, time_source time) {
  api_service s;
  s.headers = {{flavor_header, "Google"}};
  s.limits = limits;
  s.limits.one_try = std::min(limits.one_try, try_max);
  s.limits.total = std::min(limits.total, total_max);
  s.time = std::move(time);
  return s;
}

}  // namespace

void access_token::take(json_place const& answer, time_point now) {
  using std::chrono::seconds;
  text_ = answer.at("access_token").text();
  auto const lasts = std::clamp(seconds(answer.at("expires_in").number()), seconds(0), age_max);
  until_ = now + lasts - reserve;
}

google_metadata::google_metadata(environment_lookup const& environment, api_limits limits,
                                 time_source time)
    : base_(metadata_base(environment)), time_(time), client_(metadata_service(limits, time)) {}

muster::http_response google_metadata::ask(std::string const& path) {
  api_request const request{"GET", base_ + path};
  muster::http_response answer;
  try {
    answer = client_.send(request);
  } catch (cluster_error const& e) {
    throw cluster_error(e.kind(),
                        std::string(e.what()) + "; this works only on a Google Cloud machine");
  }
  if (answer.header(flavor_header) != "Google")
    throw cluster_error(cluster_error::code::unreachable,
                        request.url +
                            ": the answer has no header Metadata-Flavor: Google, so it is not from "
                            "the metadata server; check whether a proxy answers instead");
  client_.check(request, answer);
  return answer;
}

std::string google_metadata::get(std::string const& path) {
  auto const text = std::string(trimmed(ask(path).body));
  if (text.empty() || has_control_character(text))
    throw invalid(base_ + path + ": the answer is " + quoted(text) + ", not one line");
  return text;
}

std::string google_metadata::zone() {
  auto const path = get("instance/zone");
  return path.substr(path.rfind('/') + 1);
}

std::string google_metadata::token() {
  if (token_.is_valid_at(time_.now())) return token_.text();
  std::string const path = "instance/service-accounts/default/token";
  auto const answer = parse_json(ask(path).body, base_ + path);
  json_place const top(answer, base_ + path);
  token_.take(top, time_.now());
  return token_.text();
}

}  // namespace muster::cluster
