// One entry a token, its key "u\0ID".
#include "muster/journal/v1/records.pb.h"
#include "server/journal/entries.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/times.hpp"

namespace muster::server::journal {
namespace {

using namespace std::string_view_literals;
constexpr auto prefix = "u\0"sv;

}  // namespace

void encode(core::token_fact const& f, std::vector<change>& into) {
  auto key = std::string(prefix) + f.id;
  if (!f.now) return into.push_back({change::kind::erase, std::move(key), {}});
  auto const& t = *f.now;
  muster::journal::v1::Token w;
  w.set_role(static_cast<std::uint32_t>(t.role));
  for (auto const& c : t.clusters) w.add_clusters(c);
  if (t.expires != core::never) w.set_expires(us(t.expires));
  w.set_allow_exec(t.allow_exec);
  w.set_salt(t.salt);
  w.set_digest(t.digest);
  w.set_created(us(t.created));
  w.set_created_by(t.created_by);
  w.set_queued_max(t.queued_max);
  w.set_sessions_max(t.sessions_max);
  w.set_value_bytes_max(t.value_bytes_max);
  into.push_back({change::kind::put, std::move(key), w.SerializeAsString()});
}

muster::result<std::vector<core::token>> load_tokens(store const& s) {
  std::vector<core::token> all;
  muster::status bad;
  auto const read = s.read(prefix, [&](std::string_view key, std::string_view value) {
    auto const id = key.substr(prefix.size());
    muster::journal::v1::Token w;
    // One that cannot be understood must not become another one.
    if (!read_message(w, value) || w.role() > 3) {
      bad = {code::internal, "the entry of token '" + std::string(id) + "' cannot be read"};
      return false;
    }
    core::token t;
    t.id = id;
    t.role = static_cast<core::role>(w.role());
    t.clusters.assign(w.clusters().begin(), w.clusters().end());
    if (w.has_expires()) t.expires = time(w.expires());
    t.allow_exec = w.allow_exec();
    t.salt = w.salt();
    t.digest = w.digest();
    t.created = time(w.created());
    t.created_by = w.created_by();
    t.queued_max = w.queued_max();
    t.sessions_max = w.sessions_max();
    t.value_bytes_max = w.value_bytes_max();
    all.push_back(std::move(t));
    return true;
  });
  if (!read.ok()) return read;
  if (!bad.ok()) return bad;
  return all;
}

}  // namespace muster::server::journal
