#include "server/hub/blob_store.hpp"

#include <algorithm>
#include <utility>

#include "server/core/api/explanation.hpp"

namespace muster::server {
namespace {

muster::status not_running() {
  return {muster::code::unavailable, "the server is stopping"};
}

}  // namespace

blob_store::blob_store(blob_store_options options, blob_dependencies dependencies)
    : options_(std::move(options)),
      dependencies_(std::move(dependencies)),
      table_(options_.limits),
      files_(options_.files) {}

blob_store::~blob_store() {
  stop();
}

muster::status blob_store::start() {
  auto const found = files_.find();
  if (!found) return found.error();
  for (auto const& [hash, size] : *found) table_.restore(hash, size, dependencies_.now());
  thread_.start([this](std::vector<job> jobs) {
    for (auto& j : jobs) std::exchange(j, {})(files_);  // frees the job, which may be large
  });
  return {};
}

// Pending jobs are completed, so that all callers get their answers.
void blob_store::stop() {
  if (thread_.stop(true)) files_.clear();
}

bool blob_store::ask(job j) {
  std::vector<job> one;
  one.push_back(std::move(j));
  return thread_.ask(std::move(one));
}

template <class Work, class Answer>
void blob_store::ask(Work work, Answer answer) {
  auto const asked = ask([this, work = std::move(work), answer](blob_files& files) {
    dependencies_.post([answer, said = work(files)]() mutable { answer(std::move(said)); });
  });
  if (!asked) answer(not_running());
}

void blob_store::remove_expired() {
  auto gone = table_.take_removed();
  if (gone.empty()) return;
  for (auto const& hash : gone) {
    named_.erase(hash);
    if (auto const node = charged_.extract(hash))
      uncharge(node.mapped().token, node.mapped().bytes);
  }
  ask([gone = std::move(gone)](blob_files& files) {
    for (auto const& hash : gone) files.remove(hash);
  });
}

std::uint64_t blob_store::bytes_of(std::string_view token) const {
  auto const it = bytes_of_.find(token);
  return it == bytes_of_.end() ? 0 : it->second;
}

void blob_store::uncharge(std::string const& token, std::uint64_t bytes) {
  auto const it = bytes_of_.find(token);
  if (it != bytes_of_.end() && (it->second -= bytes) == 0) bytes_of_.erase(it);
}

muster::status blob_store::reserve(core::caller const& who, std::uint64_t bytes) {
  if (who)
    if (auto full = dependencies_.room_for_token(*who, bytes); !full.ok()) return full;
  auto room = table_.reserve(bytes, dependencies_.now());
  remove_expired();
  if (room.ok() && who && bytes > 0) bytes_of_[who->id] += bytes;
  return room;
}

void blob_store::give_back(upload const& u) {
  table_.give_back(u.reserved);
  if (u.who) uncharge(u.who->id, u.reserved);
}

muster::result<blob_store::upload_id> blob_store::begin(std::string_view hash,
                                                        std::optional<std::uint64_t> size,
                                                        std::string_view name,
                                                        core::caller const& who) {
  if (uploads_.size() >= options_.uploads_max)
    return muster::status{muster::code::resource_exhausted,
                          std::to_string(uploads_.size()) +
                              " blobs are being uploaded, which is the limit; try again later"};
  auto const counts_for = who && who->value_bytes_max > 0 ? who : nullptr;
  if (auto room = reserve(counts_for, size.value_or(0)); !room.ok()) return room;
  auto const id = ++last_upload_;
  uploads_[id] = {std::string(hash), std::string(name.empty() ? hash : name), size, counts_for,
                  size.value_or(0)};
  return id;
}

void blob_store::append(upload_id id, std::string piece, done on_done) {
  auto& u = uploads_.at(id);
  u.got += piece.size();
  muster::status wrong;
  if (u.size && u.got > *u.size)
    wrong = {muster::code::invalid_argument,
             "received more than the announced " + std::to_string(*u.size) + " bytes"};
  else if (u.got > table_.limits().blob_bytes_max)
    wrong = {muster::code::out_of_range, "the blob has more than " +
                                             std::to_string(table_.limits().blob_bytes_max) +
                                             " bytes, which is the limit"};
  else if (u.got > u.reserved) {
    wrong = reserve(u.who, u.got - u.reserved);
    if (wrong.ok()) u.reserved = u.got;
  }
  if (!wrong.ok()) return on_done(std::move(wrong));
  ask([id, piece = std::move(piece)](blob_files& files) { return files.append(id, piece); },
      on_done);
}

void blob_store::finish(upload_id id, done on_done) {
  auto& u = uploads_.at(id);
  if (u.size && u.got < *u.size) {
    auto wrong = muster::status{muster::code::invalid_argument,
                                "received only " + std::to_string(u.got) + " of the announced " +
                                    std::to_string(*u.size) + " bytes"};
    abandon(id);
    return on_done(std::move(wrong));
  }
  // If an older blob of this name expired now, its removal would delete this upload's file.
  table_.pin(u.name);
  u.finishing = true;
  auto finished = [this, id, on_done](muster::status const& said) {
    auto const node = uploads_.extract(id);
    auto const& put = node.mapped();
    auto const now = dependencies_.now();
    if (said.ok()) {
      bool const is_new = table_.put(put.name, put.reserved, now);
      if (put.name != put.hash) named_.insert(put.name);
      if (put.who && is_new)
        charged_[put.name] = {put.who->id, put.reserved};
      else if (put.who)
        uncharge(put.who->id, put.reserved);
    } else {
      give_back(put);
    }
    table_.unpin(put.name, now);
    end_fetches();
    on_done(said);
  };
  auto work = [id, hash = u.hash, name = u.name](blob_files& files) {
    return files.finish(id, hash, name);
  };
  ask(std::move(work), finished);
}

void blob_store::abandon(upload_id id) {
  auto const it = uploads_.find(id);
  if (it == uploads_.end() || it->second.finishing) return;
  give_back(it->second);
  uploads_.erase(it);
  ask([id](blob_files& files) { files.abandon(id); });
}

void blob_store::read(std::string_view hash, std::uint64_t offset, std::size_t bytes,
                      read_done on_done) {
  auto const size = table_.size_of(hash);
  if (!size) return on_done(no_such_blob(hash));
  table_.pin(hash);
  auto const left = offset < *size ? *size - offset : 0;
  bytes = std::min<std::uint64_t>({bytes, piece_bytes_max, left});
  auto answer = [this, name = std::string(hash), on_done](muster::result<std::string> got) {
    table_.unpin(name, dependencies_.now());
    on_done(std::move(got));
  };
  auto work = [name = std::string(hash), offset, bytes](blob_files& files) {
    return files.read(name, offset, bytes);
  };
  ask(std::move(work), answer);
}

bool blob_store::lease(std::string_view hash) {
  return table_.touch(hash, dependencies_.now());
}

void blob_store::name(core::closure_id closure, std::string_view hash) {
  auto const it = named_by_.find(closure);
  if (it == named_by_.end() && named_by_.size() >= options_.names_max) return;
  lost_.made_again(closure, hash);
  table_.hold(hash);
  auto& named = it == named_by_.end() ? named_by_[closure] : it->second;
  if (!named.name.empty()) release(named.name);
  named = {std::string(hash)};
  // A client releases an argument when its closures have finished, so the server needs its own
  // copy.
  auto const* place = holders_.table().find(hash);
  if (place && !place->output && !table_.size_of(hash)) holders_.want(hash, dependencies_.now());
}

void blob_store::copy(core::closure_id closure) {
  auto const it = named_by_.find(closure);
  if (it != named_by_.end() && !table_.size_of(it->second.name)) want(it->second.name);
}

void blob_store::fetch(std::string_view name, core::duration patience, std::function<void()> then) {
  auto const now_called = current(name);
  if (table_.size_of(now_called) || fetches_.size() >= fetches_max || !can_arrive(now_called))
    return dependencies_.post(std::move(then));
  want(now_called);
  fetches_.push_back({now_called, dependencies_.now() + patience, std::move(then)});
}

void blob_store::want(std::string_view name) {
  for (auto const& [id, u] : uploads_)
    if (u.name == name) return;
  if (holders_.want(name, dependencies_.now()) || !dependencies_.recompute) return;
  if (auto const closure = lost_.ask(name, dependencies_.now()))
    dependencies_.post([this, id = *closure] { dependencies_.recompute(id); });
}

core::input_place blob_store::place_of(std::string_view name) const {
  core::input_place p;
  auto const known = current(name);
  auto const size = table_.size_of(known);
  p.at_server = size.has_value();
  if (auto const* held = holders_.table().find(known)) p.bytes = held->size;
  if (size) p.bytes = *size;
  p.holders = holders_.tasks(known);
  return p;
}

void blob_store::explain_input(core::explanation& e) const {
  if (e.why != core::closure_reason::running || !e.waits) return;
  for (auto const& [input, name] : e.waits->large) {
    auto place = place_of(blob_hash_of(name));
    auto const& by = place.holders;
    if (place.at_server || std::find(by.begin(), by.end(), e.worker) != by.end()) continue;
    e.why = core::closure_reason::input_elsewhere;
    e.input = input;
    e.place = std::move(place);
    return;
  }
}

void blob_store::end_fetches() {
  auto const now = dependencies_.now();
  std::erase_if(fetches_, [&](fetching& f) {
    if (auto again = current(f.name); again != f.name) want(f.name = std::move(again));
    if (!table_.size_of(f.name) && now < f.until) return false;
    dependencies_.post(std::move(f.then));
    return true;
  });
}

void blob_store::release(std::string_view name) {
  table_.release(name, dependencies_.now());
  if (!table_.is_held(name)) holders_.release_output(name);
}

// The next call retries blobs that do not fit.
void blob_store::keep(std::set<std::string> hashes) {
  std::erase_if(hashes, [this](std::string const& hash) {
    if (kept_.contains(hash)) return false;
    table_.hold(hash);
    return !table_.is_held(hash);
  });
  for (auto const& hash : kept_)
    if (!hashes.contains(hash)) table_.release(hash, dependencies_.now());
  kept_ = std::move(hashes);
}

void blob_store::sweep(std::function<bool(core::closure_id)> const& has_value,
                       of_closures const& lost, of_closures const& copied) {
  auto const now = dependencies_.now();
  std::vector<core::closure_id> here;
  auto it = named_by_.upper_bound(sweep_position_);
  for (std::size_t i = 0; i < looks && it != named_by_.end(); ++i) {
    sweep_position_ = it->first;
    if (has_value(it->first)) {
      if (!it->second.told && (it->second.told = table_.size_of(it->second.name).has_value()))
        here.push_back(it->first);
      ++it;
    } else {
      release(it->second.name);
      it = named_by_.erase(it);
    }
  }
  if (it == named_by_.end()) sweep_position_ = {};
  table_.sweep(now);
  auto const gone = holders_.sweep(
      now, {.is_named = [this](std::string const& name) { return table_.is_held(name); },
            .is_at_server = [this](std::string const& name) { return !!table_.size_of(name); }});
  if (!gone.empty() && lost) lost(lose(gone));
  if (!here.empty() && copied) copied(std::move(here));
  end_fetches();
  remove_expired();
}

std::vector<core::closure_id> blob_store::lose(std::vector<std::string> const& names) {
  std::set<std::string> const wanted(names.begin(), names.end());
  std::vector<core::closure_id> found;
  for (auto const& [closure, of] : named_by_) {
    if (!wanted.contains(of.name)) continue;
    found.push_back(closure);
    lost_.add(of.name, closure);
  }
  return found;
}

std::string blob_named_by(std::string_view value) {
  if (!names_blob(value)) return {};
  return blob_hash_of(value.substr(value.find(':') + 2, 64));
}

}  // namespace muster::server
