// Limits at which a value becomes a warning or a problem.
#include "cli/doctor/finding.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iomanip>
#include <map>
#include <optional>
#include <sstream>

#include "base/text.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"
#include "server/journal/etcd/etcd_version.hpp"

namespace muster::cli::doctor {
namespace {

using namespace std::chrono_literals;

constexpr double offset_warned = 2.0, offset_wrong = 60.0;  // in seconds
constexpr std::uint64_t files_wanted = 4'096;
constexpr std::uint64_t disk_warned = 5ull << 30, disk_short = 512ull << 20;
constexpr auto days_warned = std::chrono::days(30), days_short = std::chrono::days(7);

std::string fixed(double n, int digits = 1) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << n;
  return out.str();
}

std::string without_interpreter(std::string const& version) {
  return version.substr(0, version.find(" ("));
}

std::string size(std::uint64_t bytes) {
  constexpr double gib = 1 << 30;
  return fixed(static_cast<double>(bytes) / gib) + " GiB";
}

std::string day(std::chrono::sys_seconds at) {
  std::time_t const t = std::chrono::system_clock::to_time_t(at);
  std::tm parts{};
  ::gmtime_r(&t, &parts);
  std::ostringstream out;
  out << std::put_time(&parts, "%Y-%m-%d");
  return out.str();
}

struct advice {
  char const *check, *fix;
};

std::optional<advice> on_failure(http_failure f, std::string const& url) {
  switch (f) {
    case http_failure::certificate_expired:
      return advice{"certificate",
                    "renew it on the server's machine ('muster tls init DIR' keeps the authority); "
                    "a running server loads the new certificate. If the certificate has not "
                    "expired yet, this "
                    "machine's clock is wrong ('timedatectl')"};
    case http_failure::certificate_not_yet_valid:
      return advice{"certificate", "check the clocks of both machines ('timedatectl')"};
    case http_failure::certificate_for_another_name:
      return advice{"certificate",
                    "use a name that the certificate contains, or issue a certificate that "
                    "contains this name too: 'muster tls init DIR --host NAME'"};
    case http_failure::certificate_not_accepted:
      return advice{"certificate",
                    "pass --ca FILE with the certificate of the authority that issued it (ca.pem "
                    "of 'muster tls init', docs/tls.md); if --ca is already given, another program "
                    "answers at this address"};
    case http_failure::name_unknown:
      return advice{"ports",
                    "correct the name in --url; 'getent hosts NAME' shows the addresses of a name"};
    case http_failure::timed_out:
      if (!url.starts_with("https://")) return {};
      return advice{"ports",
                    "write http:// in --url if the server does not use TLS; otherwise allow this "
                    "TCP port in the firewalls between the two machines"};
    default:
      return {};
  }
}

std::optional<advice> on_answer(request_end const& end, bool with_token) {
  if (end.status == 404 && end.code.empty())
    return advice{"ports",
                  "another program answers at this address; pass the HTTP address of a Muster "
                  "server in --url"};
  if (end.status == 400 && end.field == "scheme")
    return advice{"ports", "write https:// in --url, and pass --ca FILE"};
  if (end.status == 401 && !end.code.empty())
    return with_token ? advice{"token",
                               "an admin can list the tokens with 'muster token list' and create "
                               "one with 'muster token create'"}
                      : advice{"token",
                               "pass --token-file FILE, or set MUSTER_TOKEN; an admin creates a "
                               "token with 'muster token create' (docs/tokens.md)"};
  if (end.status == 403 && end.field == "role")
    return advice{"token",
                  "a viewer's token is enough; an admin creates one with 'muster token create "
                  "--role viewer'"};
  if (end.status == 403 && end.field == "cluster")
    return advice{"token",
                  "doctor checks the whole server; use a token that is not bound to a cluster"};
  return {};
}

}  // namespace

finding judge_refusal(std::string const& why, request_end const& end, bool with_token,
                      std::string const& url) {
  auto known = on_answer(end, with_token);
  for (auto const f : end.failures)
    if (!known) known = on_failure(f, url);
  if (known) return {known->check, result::problem, why, known->fix};
  return {"health", result::problem, why,
          "see the server's log ('journalctl -u muster', or its standard error)"};
}

char const* name(result r) {
  return r == result::ok ? "ok" : r == result::warning ? "warning" : "problem";
}

std::chrono::sys_seconds parse_date(std::string const& text) {
  std::tm parts{};
  auto in = std::istringstream(text);
  in.imbue(std::locale::classic());
  in >> std::get_time(&parts, "%a, %d %b %Y %H:%M:%S GMT");
  return std::chrono::sys_seconds(std::chrono::seconds(in ? ::timegm(&parts) : 0));
}

// The Date header has whole seconds, so the server's clock was within that second.
finding judge_clock(std::chrono::sys_seconds date, std::chrono::system_clock::time_point asked,
                    std::chrono::system_clock::time_point answered) {
  using seconds = std::chrono::duration<double>;
  auto const offset = seconds(date + 500ms - asked - (answered - asked) / 2).count();
  auto const doubt = 0.5 + seconds(answered - asked).count() / 2;
  auto const certain = std::max(0.0, std::abs(offset) - doubt);
  finding f{"clock", result::ok, "within " + fixed(doubt) + " s of the server's"};
  if (certain <= offset_warned) return f;
  f.is = certain > offset_wrong ? result::problem : result::warning;
  f.text = "the server's clock is " + fixed(std::abs(offset)) + " s " +
           (offset > 0 ? "ahead of" : "behind") + " this machine's (give or take " + fixed(doubt) +
           " s): times in logs cannot be compared" +
           (f.is == result::problem ? ", and valid certificates can appear to be expired" : "");
  f.fix = "on both machines: 'timedatectl set-ntp true', then 'timedatectl' shows which one is off";
  return f;
}

finding judge_files(std::string const& whose, std::uint64_t limit, std::uint64_t open) {
  finding f{"files", result::ok, whose + " can open " + with_thousands(limit) + " files"};
  if (open > 0) f.text += ", " + with_thousands(open) + " are open";
  if (limit >= files_wanted && open * 10 < limit * 8) return f;
  bool const nearly_out = open * 10 >= limit * 9;
  f.is = nearly_out ? result::problem : result::warning;
  f.text +=
      nearly_out ? ": new connections wait" : ": each worker and each browser needs an open file";
  f.fix = "LimitNOFILE=65536 in the service unit, or 'ulimit -n 65536' before 'muster serve'";
  return f;
}

finding judge_disk(std::string const& path, std::uint64_t free_bytes, std::uint64_t all_bytes) {
  finding f{"disk", result::ok,
            path + " has " + size(free_bytes) + " of " + size(all_bytes) + " free"};
  bool const low = free_bytes < disk_warned && free_bytes < all_bytes / 10;
  bool const little = free_bytes < disk_short;
  if (!low && !little) return f;
  f.is = little ? result::problem : result::warning;
  f.text += ": a full disk stops everything that writes to it";
  f.fix = "free some space, or move " + path +
          " to a larger disk; 'muster data compact' shrinks the --data-dir of a stopped server";
  return f;
}

finding judge_certificate(std::string const& where, std::string const& subject,
                          std::chrono::sys_seconds begin, std::chrono::sys_seconds end,
                          std::chrono::sys_seconds now) {
  finding f{"certificate", result::ok, where + ": " + subject};
  auto const left = std::chrono::floor<std::chrono::days>(end - now);
  if (now < begin) {
    f.is = result::problem;
    f.text += " is not valid before " + day(begin);
    f.fix = "check this machine's clock ('timedatectl'); if it is right, renew the certificate";
    return f;
  }
  f.text += left.count() < 0 ? " expired on " + day(end)
                             : " is valid until " + day(end) + ", " + std::to_string(left.count()) +
                                   (left.count() == 1 ? " day" : " days") + " left";
  if (left > days_warned) return f;
  f.is = left < days_short ? result::problem : result::warning;
  f.fix =
      "renew it ('muster tls init DIR' keeps the authority) and replace the old file; a running "
      "server loads the new certificate";
  return f;
}

findings judge_versions(std::string const& here, std::string const& server,
                        json::array const& tasks) {
  findings all;
  all.push_back({"version", result::ok, "this program and the server have version " + here});
  if (here != server)
    all.back() = {"version", result::warning,
                  "this program has version " + here + ", but the server has version " + server,
                  "install the same version on both, the server first"};
  std::map<std::string, std::vector<std::string>> workers;
  for (auto const& t : tasks)
    if (text_of(t, "kind") == "worker" && text_of(t, "state") != "DISCONNECTED")
      workers[text_of(t, "version")].push_back(text_of(t, "job") + ":" + text_of(t, "index"));
  std::string text;
  for (auto const& [version, names] : workers)
    text += (text.empty() ? "" : "; ") + std::to_string(names.size()) + " with version " +
            (version.empty() ? "unknown" : version) + " (" + names.front() +
            (names.size() > 1 ? ", …)" : ")");
  if (workers.empty()) return all;
  all.push_back({"version", result::ok, "workers: " + for_terminal(text, 400)});
  bool const all_are_servers = std::all_of(workers.begin(), workers.end(), [&](auto const& w) {
    return (w.first.empty() && workers.size() == 1) || without_interpreter(w.first) == server;
  });
  if (all_are_servers) return all;
  all.back().is = result::warning;
  all.back().text += "; the server has version " + server;
  all.back().fix =
      "install the server's version on the workers and restart them one by one; 'muster drain "
      "TASK' lets a worker finish its closures first";
  return all;
}

findings judge_etcd(std::string const& version) {
  if (version.empty()) return {};
  auto const text = "the server's data is stored in etcd " + for_terminal(version);
  if (!server::journal::etcd::can_answer_with_old_data(version))
    return {{"etcd", result::ok, text}};
  return {{"etcd", result::warning,
           text + ", which can return data that is older than acknowledged writes (etcd issue "
                  "20418); the server rejects such answers and waits for recent ones",
           "upgrade each member of etcd to 3.6.9 or later, or to a 3.4 or 3.5 patch release whose "
           "changelog lists the fix"}};
}

findings judge_alerts(json::array const& items, std::string const& url) {
  findings all;
  for (auto const& i : items) {
    auto const command = text_of(i, "command");
    auto const detail = text_of(i, "detail");
    // A failed job concerns only its owner; the server itself is healthy.
    bool const of_user = text_of(i, "rule").ends_with("-failed");
    bool const grave = text_of(i, "severity") == "error" && !of_user;
    all.push_back({"health", grave ? result::problem : result::warning,
                   for_terminal(text_of(i, "title") + (detail.empty() ? "" : ": " + detail), 400),
                   command.empty() ? "see " + url + text_of(i, "link") : command});
  }
  if (all.empty()) all.push_back({"health", result::ok, "no alerts"});
  return all;
}

}  // namespace muster::cli::doctor
