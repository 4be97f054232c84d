// Uses Protobuf's JSON format with the field names of the .proto file.
#include "client/programs/order_lines.hpp"

#include <google/protobuf/util/json_util.h>

#include <boost/json.hpp>

#include "base/check.hpp"

namespace muster {
namespace {

namespace json = boost::json;

std::string json_of(google::protobuf::Message const& m) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  auto const done = google::protobuf::util::MessageToJsonString(m, &text, options);
  check(done.ok(), "an order must be convertible to JSON");
  return text;
}

std::string nanoseconds(std::chrono::steady_clock::time_point t) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count());
}

}  // namespace

std::string start_line(v1::StartRanks const& order, start_settings const& s) {
  json::object devices;
  for (auto const& [rank, names] : s.devices) devices[std::to_string(rank)] = names;
  json::object around{{"logs", s.directories.logs.string()},
                      {"work", s.directories.work.string()},
                      {"user", s.user},
                      {"devices", std::move(devices)}};
  if (s.stacks.signal != 0)
    around["stacks"] = {{"modules", s.stacks.modules.string()},
                        {"directory", s.stacks.directory.string()},
                        {"signal", s.stacks.signal}};
  if (!s.steps.empty()) around["steps"] = s.steps;
  auto line = json::serialize(around);
  line.pop_back();
  return line + R"(,"lease_until_ns":)" + nanoseconds(s.lease_until) + R"(,"start":)" +
         json_of(order) + "}";
}

std::string stop_line(v1::StopRanks const& order) {
  return R"({"stop":)" + json_of(order) + "}";
}

std::string lease_line(std::chrono::steady_clock::time_point until) {
  return R"({"lease_until_ns":)" + nanoseconds(until) + "}";
}

v1::RankEnded not_started(std::string const& why) {
  v1::RankEnded e;
  e.set_not_started(why);
  return e;
}

v1::RankEnded end_of(std::string const& text) {
  v1::RankEnded end;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  auto const done = google::protobuf::util::JsonStringToMessage(text, &end, options);
  if (!done.ok()) end.set_not_started("the launcher sent an invalid message");
  return end;
}

}  // namespace muster
