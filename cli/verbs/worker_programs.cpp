#include "cli/verbs/worker_programs.hpp"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <system_error>

#include "base/text.hpp"

namespace muster::cli {
namespace {

std::uint16_t port_of(std::string const& text, program_flags const& flags) {
  auto const port = muster::parse_number(text);
  if (!port || *port < 1024 || *port > 65535)
    throw command_error(
        exit_usage, "--program-ports " + flags.ports + ": write FIRST-LAST, from 1024 to 65535");
  return static_cast<std::uint16_t>(*port);
}

// Returns 0 for "off".
int signal_of(std::string const& text) {
  if (text == "off") return 0;
  constexpr std::string_view from_first = "SIGRTMIN+";
  bool const counted = text.starts_with(from_first);
  auto const number =
      muster::parse_number(std::string_view(text).substr(counted ? from_first.size() : 0));
  auto const first = static_cast<std::uint64_t>(SIGRTMIN),
             last = static_cast<std::uint64_t>(SIGRTMAX);
  auto const signal = number.value_or(0) + (counted ? first : 0);
  if (!number || *number > last || signal < first || signal > last)
    throw command_error(exit_usage,
                        "--stack-signal " + text + ": write SIGRTMIN+N, a number from " +
                            std::to_string(first) + " to " + std::to_string(last) + ", or off");
  return static_cast<int>(signal);
}

void check_address(std::string const& host) {
  auto const fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view(".-_:%").find(c) != std::string_view::npos;
  };
  if (host.size() > 255 || !std::all_of(host.begin(), host.end(), fits))
    throw command_error(exit_usage, "--program-address '" + host + "': write a name or an address");
}

void check_user(std::string const& user) {
  if (user.empty()) return;
  if (!::getpwnam(user.c_str()))
    throw command_error(exit_usage, "--program-user: there is no user '" + user + "' on this host");
  if (::geteuid() != 0)
    throw command_error(exit_usage, "--program-user: only root can run ranks as another user");
}

}  // namespace

void add_program_flags(CLI::App& verb, program_flags& f) {
  auto* allow = verb.add_flag("--allow-programs", f.allow,
                              "Run ranks of programs (muster launch), which can be any command");
  // Reports flags that have no effect without --allow-programs.
  for (auto* about_programs :
       {add_value(verb, "--program-ports", f.ports, "FIRST-LAST", "Ports on which ranks can listen")
            ->capture_default_str(),
        add_value(verb, "--program-user", f.user, "NAME",
                  "User that ranks run as (default: the worker's user)"),
        add_duration(verb, "--program-lease", f.lease,
                     "Time without contact with the server after which ranks are killed"),
        add_value(verb, "--program-address", f.address, "HOST",
                  "Address of this machine for ranks on other hosts (default: the local address "
                  "used to reach the server)"),
        add_value(verb, "--program-dir", f.directory, "DIR",
                  "Directory for working directories and logs of ranks (default: a temporary "
                  "directory that is deleted when the worker exits)"),
        add_value(
            verb, "--stack-signal", f.stack_signal, "SIGNAL",
            "Signal that makes Python ranks write their stacks (muster programs stacks); off: none")
            ->capture_default_str(),
        add_duration(verb, "--program-notice", f.notice,
                     "Time for ranks that call muster.step to reach a common last step when the "
                     "worker leaves"),
        add_bytes(verb, "--program-cache-bytes-max", f.cache_bytes_max,
                  "Maximum size of all unpacked uploads that are kept for further ranks"),
        add_duration(verb, "--program-cache-age", f.cache_age,
                     "Time without use after which an unpacked upload is deleted")})
    about_programs->needs(allow);
}

std::unique_ptr<rank_side> rank_side_of(program_flags const& f, worker_options const& worker) {
  if (!f.allow) return nullptr;
  program_options o;
  auto const dash = f.ports.find('-');
  o.first_port = port_of(f.ports.substr(0, dash), f);
  o.last_port = dash == std::string::npos ? o.first_port : port_of(f.ports.substr(dash + 1), f);
  if (o.last_port < o.first_port)
    throw command_error(exit_usage,
                        "--program-ports " + f.ports + ": the last port is below the first");
  o.lease = std::chrono::ceil<std::chrono::milliseconds>(f.lease);
  if (o.lease < std::chrono::seconds(1) || o.lease > std::chrono::hours(24))
    throw command_error(exit_usage, "--program-lease must be from 1s to 24h");
  check_user(f.user);
  o.user = f.user;
  check_address(f.address);
  o.address = f.address;
  o.stack_signal = signal_of(f.stack_signal);
  o.directory = f.directory;
  o.notice = std::chrono::ceil<std::chrono::milliseconds>(f.notice);
  o.cache_bytes_max = f.cache_bytes_max;
  o.cache_age = std::chrono::duration_cast<std::chrono::seconds>(f.cache_age);
  o.tls = worker.tls;
  o.token = worker.token;
  o.resources = worker.resources;
  try {
    return make_rank_side(std::move(o), worker.servers);
  } catch (std::system_error const& e) {
    throw command_error(exit_usage, std::string("--program-dir: ") + e.what());
  }
}

}  // namespace muster::cli
