// Settings of alert notifications.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace muster::server {

struct webhook_settings {
  static constexpr std::size_t urls_max = 8;

  std::vector<std::string> urls;      // if empty, no notifications are sent
  std::filesystem::path secret_file;  // signature key; if empty, notifications are unsigned
  std::string page;          // dashboard URL for links; if empty, notifications contain no links
  std::filesystem::path ca;  // trusted CAs; if empty, the system's CAs
};

/// Returns the problem with the settings, or an empty string. `insecure` allows plaintext to other
/// machines.
std::string problem_with(webhook_settings const& s, bool insecure);

/// Returns "https://hooks.example/…" for messages, because the path can be a secret.
std::string shown_url(std::string const& url);

}  // namespace muster::server
