#include "cli/task_remark.hpp"

namespace muster::cli {
namespace {

// Returns for example "8 devices: /job:worker/…/GPU:0, …". Only some agents report device names.
std::string devices(json::value const& task) {
  auto const& count = field_of(task, "devices");
  if (!count.is_number() || number_of(task, "devices") == 0) return {};
  auto const names = texts_of(task, "device_names");
  return text_of(task, "devices") + " devices" + (names.empty() ? names : ": " + names);
}

}  // namespace

std::string remark_on_task(json::value const& task) {
  auto const is = [&](std::string_view key) { return is_true(task, key); };
  if (is("away")) return "disconnected, can reconnect: " + text_of(task, "error");
  if (is("given_up")) return "given up: " + text_of(task, "error");
  if (is("draining")) return "draining";
  if (is("cordoned")) return "cordoned: receives no new closures until 'muster uncordon'";
  if (!field_of(task, "starts_ms").is_null()) return "starts later (--start-delay)";
  auto const& error = field_of(task, "error");
  bool const has_left =
      text_of(task, "state") == "DISCONNECTED" && text_of(task, "error") == "left";
  if (has_left) return {};  // the state already shows this
  if (error.is_string()) return std::string(error.get_string());
  if (!error.is_null()) {
    return (is_true(error, "casualty") ? "(casualty) " : "") + text_of(error, "code") + ": " +
           text_of(error, "message");
  }
  if (auto const late = text_of(task, "late_for"); !late.empty())
    return "other tasks are waiting for it at barrier " + late;
  if (is_true(task, "unheard")) return "has not reconnected since the server's restart";
  auto const waits = texts_of(task, "waiting_for");
  return waits.empty() ? devices(task) : "is waiting for " + waits;
}

}  // namespace muster::cli
