#include "app/access/stored_tokens.hpp"

#include <limits>
#include <utility>

#include "muster/journal/v1/records.pb.h"
#include "server/hub/access/token_text.hpp"
#include "server/journal/entries.hpp"
#include "server/journal/etcd/etcd_store.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/rocks_store.hpp"

namespace muster::server {

namespace {

// Adds the format entry to an empty store. A store with other entries but without a format is an
// incomplete copy, which no server accepts.
muster::status check_format(journal::store& s, std::string const& version) {
  auto format = journal::read_format(s);
  if (!format) return format.error();
  auto& f = *format;
  if (f.version() > journal::format_known)
    return {code::failed_precondition, "was written by a newer server (" + f.written_by() +
                                           "); use the 'muster' program of that version"};
  if (f.version() == journal::format_known) return {};
  f.set_version(journal::format_known);
  f.set_written_by(version);
  return s.write({{journal::change::kind::put, journal::format_key, f.SerializeAsString()}});
}

}  // namespace

muster::result<stored_tokens> stored_tokens::open(std::filesystem::path const& directory,
                                                  std::string const& version) {
  auto opened = journal::rocks_store::open(directory);
  if (!opened) return opened.error();
  stored_tokens t;
  t.store_ = std::move(*opened);
  if (auto bad = t.read(directory.string(), version); !bad.ok()) return bad;
  return t;
}

muster::result<stored_tokens> stored_tokens::open(
    journal::etcd::access const& a, std::string const& version,
    std::function<void(std::string const& why)> over) {
  auto lead = journal::etcd::acquire_exclusive_leadership(
      a, "muster token", "use --url to ask that server, or stop it and its standby servers", over);
  if (!lead) return lead.error();
  auto const name = a.where.text();
  auto opened = journal::etcd::etcd_store::open(
      a, (*lead)->begun(), {std::numeric_limits<std::uint64_t>::max(), std::move(over)});
  if (!opened) return muster::status{opened.error().code, name + ": " + opened.error().message};
  stored_tokens t;
  t.lead_ = std::move(*lead);
  t.store_ = std::move(*opened);
  if (auto bad = t.read(name, version); !bad.ok()) return bad;
  return t;
}

muster::status stored_tokens::read(std::string const& name, std::string const& version) {
  if (auto bad = check_format(*store_, version); !bad.ok())
    return {bad.code, name + ": " + bad.message};
  auto all = journal::load_tokens(*store_);
  if (!all) return {all.error().code, name + ": " + all.error().message};
  for (auto& one : *all) tokens_.restore(std::move(one));
  return {};
}

muster::status stored_tokens::write(std::string const& id) {
  std::vector<journal::change> batch;
  journal::encode({id, tokens_.find(id)}, batch);
  return store_->write(batch);
}

muster::result<new_token> stored_tokens::create(token_request const& w, core::time_point now) {
  auto made = make_token(w, {}, now);
  if (auto bad = tokens_.step(core::create_token{made.token}, now); !bad.ok()) return bad;
  if (auto bad = write(made.token.id); !bad.ok()) return bad;
  return made;
}

muster::result<new_token> stored_tokens::rotate(std::string const& id) {
  new_token made{{}, new_credential(id)};
  seal(made.token, made.credential);
  auto bad = tokens_.step(core::rotate_token{id, made.token.salt, made.token.digest});
  if (bad.ok()) bad = write(id);
  if (!bad.ok()) return bad;
  made.token = *tokens_.find(id);
  return made;
}

muster::status stored_tokens::revoke(std::string const& id, core::time_point now) {
  if (auto bad = tokens_.step(core::revoke_token{id}, now); !bad.ok()) return bad;
  return write(id);
}

}  // namespace muster::server
