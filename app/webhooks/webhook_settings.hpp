// Settings of alert notifications. Plain data, any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace muster::server {

struct webhook_settings {
  static constexpr std::size_t urls_max = 8;

  std::vector<std::string> urls;      // empty: no notifications
  std::filesystem::path secret_file;  // key of their signatures; empty: not signed
  std::string page;                   // URL of the dashboard, for links; empty: no links
  std::filesystem::path ca;           // CAs of the addresses; empty: the system's
};

/// Returns the problem with the settings, or "". `insecure`: plaintext can leave the machine.
std::string problem_with(webhook_settings const& s, bool insecure);

/// Returns "https://hooks.example/…", because paths are secrets.
std::string shown_url(std::string const& url);

}  // namespace muster::server
