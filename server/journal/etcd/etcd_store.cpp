#include "server/journal/etcd/etcd_store.hpp"

#include <algorithm>
#include <thread>

#include "server/journal/entries.hpp"
#include "server/journal/key_numbers.hpp"

namespace muster::server::journal::etcd {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto write_limit = 2s;
constexpr auto load_limit = 30s;
constexpr auto retry_pause = 50ms;
// During a shutdown, the remaining batches are abandoned if etcd does not answer within this time.
constexpr auto patience_at_stop = 400ms;
constexpr auto pause_without_space = 1s;
// etcd stores the history of changes until it is compacted.
constexpr std::size_t compact_bytes = std::size_t{32} << 20;
constexpr std::size_t compact_commits = 5'000;
constexpr auto compact_every = 5s;
// Limits for one page of a scan. Pages are large, because etcd counts the remaining entries for
// each page.
constexpr std::int64_t page_first = 256, page_max = 50'000;
constexpr std::size_t page_bytes = std::size_t{16} << 20;

muster::status damaged(std::string const& what) {
  return {code::internal, "damaged: " + what};
}

}  // namespace

etcd_store::etcd_store(access a, term t, store_options o)
    : names_{a.where.prefix}, options_(std::move(o)), client_(std::move(a)), term_(t) {
  client_.require(term_.created);
  read_limit_ = options_.recent_answer_limit;
}

muster::result<std::unique_ptr<etcd_store>> etcd_store::open(access a, term t, store_options o) {
  auto made = std::unique_ptr<etcd_store>(new etcd_store(std::move(a), t, std::move(o)));
  auto s = made->confirm_term();
  if (s.ok()) s = made->recover_redo();
  if (s.ok()) s = made->recover_pieces();
  if (!s.ok()) return s;
  made->read_limit_ = load_limit;
  return made;
}

// Data that contains this leader's key also contains all acknowledged writes of earlier leaders.
muster::status etcd_store::confirm_term() {
  wire::RangeRequest request;
  request.set_key(names_.leader());
  auto const answer = range(request, "for its data");
  if (!answer) return answer.error();
  if (!answer->kvs().empty() && answer->kvs(0).create_revision() == term_.created) return {};
  return {code::unavailable, "the key of this leader was removed from etcd"};
}

// Applies a stored batch if its end marker exists, otherwise deletes it.
muster::status etcd_store::recover_redo() {
  std::map<std::string, std::vector<std::string>, std::less<>> parts;
  std::string ended, count;
  auto const read = scan(names_.redos(), behind(names_.redos()), false, [&](wire::KeyValue& kv) {
    auto const name = kv.key().substr(names_.redos().size());
    auto const slash = name.find('/');
    if (slash == std::string::npos) return true;
    auto const sequence = name.substr(0, slash);
    if (name.substr(slash + 1) == "end")
      ended = sequence, count = kv.value();
    else
      parts[sequence].push_back(std::move(*kv.mutable_value()));
    return true;
  });
  if (!read.ok()) return read;
  if (parts.empty() && ended.empty()) return {};
  if (!ended.empty() && std::to_string(parts[ended].size()) != count)
    return damaged("a batch has " + std::to_string(parts[ended].size()) + " of " + count +
                   " parts");
  operations all;
  for (auto const& text : parts[ended]) {
    wire::TxnRequest part;
    if (!part.ParseFromString(text)) return damaged("a part of a batch cannot be read");
    for (auto& o : *part.mutable_success()) all.push_back(std::move(o));
  }
  auto const done = do_all(cut(std::move(all), operations_max, transaction_bytes_max), true);
  if (!done.ok()) return done;
  operations forget;
  forget.push_back(erase(names_.redos(), behind(names_.redos())));
  return commit(std::move(forget));
}

muster::status etcd_store::recover_pieces() {
  auto const first = std::string("/00000000");
  muster::status failed;
  auto const read = scan(names_.pieces(), behind(names_.pieces()), true, [&](wire::KeyValue& kv) {
    if (!kv.key().ends_with(first)) return true;
    auto const number = key_number<std::uint64_t>(
        std::string_view(kv.key()).substr(names_.pieces().size(), id_digits), id_digits, 16);
    if (!number) return failed = damaged("a part of an entry has an invalid number"), false;
    wire::RangeRequest request;
    request.set_key(kv.key());
    auto const answer = range(request, "for entries");
    if (!answer) return failed = answer.error(), false;
    if (answer->kvs().empty()) return failed = damaged("a part of an entry is missing"), false;
    pieces_.numbers.emplace(answer->kvs(0).value(), *number);
    pieces_.next = std::max<std::uint64_t>(pieces_.next, *number + 1);
    return true;
  });
  return read.ok() ? failed : read;
}

wire::TxnRequest etcd_store::guarded(operations ops) const {
  wire::TxnRequest t;
  auto& made = *t.add_compare();
  made.set_target(wire::Compare::CREATE);
  made.set_key(names_.leader());
  made.set_create_revision(term_.created);
  auto& version = *t.add_compare();
  version.set_target(wire::Compare::VERSION);
  version.set_key(names_.leader());
  version.set_version(term_.version);
  for (auto& o : ops) *t.add_success() = std::move(o);
  t.add_failure()->mutable_request_range()->set_key(names_.leader());
  return t;
}

// Increments the version of the leader's key, so that the transaction is applied only once even if
// it is sent repeatedly.
muster::status etcd_store::commit(operations ops) {
  if (parts_to_erase_) ops.push_back(erase(names_.redos(), names_.redo(sequence_)));
  auto request = guarded(std::move(ops));
  auto& step = *request.add_success()->mutable_request_put();
  step.set_key(names_.leader());
  step.set_ignore_value(true);
  step.set_ignore_lease(true);
  bool sent_before = false;
  for (;;) {
    wire::TxnResponse answer;
    auto const s =
        client_.once(write_limit, calling(&member::kv, &wire::KV::Stub::Txn, request, answer));
    if (s.ok()) {
      auto const& found = answer.responses();
      bool const earlier = !answer.succeeded() && sent_before && !found.empty() &&
                           !found[0].response_range().kvs().empty() &&
                           found[0].response_range().kvs(0).create_revision() == term_.created &&
                           found[0].response_range().kvs(0).version() == term_.version + 1;
      if (!answer.succeeded() && !earlier)
        options_.over("its key was removed from etcd, so another server may be the leader");
      ++term_.version;
      revision_ = answer.header().revision();
      client_.require(revision_);
      parts_to_erase_ = false;
      no_space_ = false;
      return {};
    }
    if (out_of_space(s)) {
      no_space_ = true;
      // etcd can return this error for a transaction that it has applied, because the transaction
      // used the last space.
      bool const done = leader_is_at(term_.version + 1);
      client_.make_space(revision_);
      if (done) {
        ++term_.version;
        parts_to_erase_ = false;
        return {};
      }
      if (!sent_before && leader_is_at(term_.version)) return client_.in_words(s);
      sent_before = true;
      std::this_thread::sleep_for(pause_without_space);
    } else if (client_.gave_up()) {
      return not_written();
    } else if (is_transient(s)) {
      sent_before = true;
      std::this_thread::sleep_for(retry_pause);
    } else {
      return client_.in_words(s);
    }
  }
}

bool etcd_store::leader_is_at(std::int64_t version) {
  wire::RangeRequest request;
  request.set_key(names_.leader());
  wire::RangeResponse answer;
  auto const s = client_.once(
      write_limit, client_.reading(&member::kv, &wire::KV::Stub::Range, request, answer));
  if (!s.ok() || answer.kvs().empty()) return false;
  revision_ = answer.header().revision();
  return answer.kvs(0).create_revision() == term_.created && answer.kvs(0).version() == version;
}

// Runs the operations concurrently. Each operation must be safe to apply twice.
muster::status etcd_store::do_all(std::vector<operations> parts, bool until_done) {
  std::vector<wire::TxnRequest> left;
  for (auto& p : parts) left.push_back(guarded(std::move(p)));
  std::vector<wire::TxnResponse> answers;
  while (!left.empty()) {
    auto const told = client_.transact(write_limit, left, answers);
    if (client_.gave_up()) return not_written();
    std::vector<wire::TxnRequest> again;
    auto wait = clock::duration(retry_pause);
    for (std::size_t i = 0; i < told.size(); ++i) {
      if (told[i].ok() && !answers[i].succeeded())
        options_.over("its key was removed from etcd, so another server may be the leader");
      if (told[i].ok()) client_.require(answers[i].header().revision());
      if (told[i].ok()) continue;
      if (out_of_space(told[i])) {
        no_space_ = true;
        wait = pause_without_space;
      }
      bool const permanent = !is_transient(told[i]) && !out_of_space(told[i]) &&
                             told[i].error_code() != grpc::StatusCode::UNAUTHENTICATED;
      if (permanent || (out_of_space(told[i]) && !until_done)) {
        if (out_of_space(told[i])) client_.make_space(revision_);
        return client_.in_words(told[i]);
      }
      again.push_back(std::move(left[i]));
    }
    left = std::move(again);
    if (left.empty()) break;
    if (wait >= pause_without_space) client_.make_space(revision_);
    std::this_thread::sleep_for(wait);
    (void)leader_is_at(term_.version);  // may switch to another member or get a new token
  }
  no_space_ = false;
  return {};
}

// A batch that is too large for one transaction is stored completely before it is applied.
muster::status etcd_store::write_in_parts(operations ops) {
  auto const sequence = sequence_++;
  std::vector<operations> parts;
  std::size_t count = 0;
  for (auto& part : cut(ops, ops.size(), transaction_bytes_max)) {
    wire::TxnRequest text;
    for (auto& o : part) *text.add_success() = std::move(o);
    parts.push_back({put(names_.redo_part(sequence, count++), text.SerializeAsString())});
  }
  auto last = std::move(parts.back());
  parts.pop_back();
  last.push_back(put(names_.redo_end(sequence), std::to_string(count)));
  // Erases the old parts in a separate transaction, so that the new parts are not affected.
  auto s = parts.empty() ? muster::status{} : do_all(std::move(parts), false);
  if (s.ok()) {
    if (parts_to_erase_) {
      last.push_back(erase(names_.redos(), names_.redo(sequence)));
      parts_to_erase_ = false;
    }
    s = commit(std::move(last));
  }
  parts_to_erase_ = true;
  if (!s.ok()) return s;
  return do_all(cut(std::move(ops), operations_max, transaction_bytes_max), true);
}

muster::status etcd_store::write(std::vector<change> const& batch) {
  auto p = plan_of(names_, batch, pieces_);
  if (p.operations.empty()) return {};
  std::size_t bytes = 0;
  for (auto const& o : p.operations) bytes += o.ByteSizeLong() + 8;
  bool const one = p.operations.size() <= operations_max && bytes <= transaction_bytes_max;
  auto const s = one ? commit(std::move(p.operations)) : write_in_parts(std::move(p.operations));
  if (!s.ok()) return s;
  pieces_ = std::move(p.pieces);
  written(one ? bytes : 2 * bytes);
  return {};
}

void etcd_store::hurry() {
  client_.hurry(patience_at_stop);
}

muster::status etcd_store::not_written() const {
  return {
      code::unavailable,
      "the server is stopping, and etcd does not answer: unacknowledged changes are not stored; " +
          client_.asked("to write")};
}

void etcd_store::written(std::size_t bytes) {
  written_ += bytes;
  ++commits_;
  bool const much = written_ >= compact_bytes || commits_ >= compact_commits;
  if (much && clock::now() - compacted_ >= compact_every) compact();
}

void etcd_store::compact() {
  written_ = commits_ = 0;
  compacted_ = clock::now();
  wire::CompactionRequest request;
  request.set_revision(revision_);
  wire::CompactionResponse answer;
  (void)client_.once(write_limit, calling(&member::kv, &wire::KV::Stub::Compact, request, answer));
}

muster::result<wire::RangeResponse> etcd_store::range(wire::RangeRequest const& request,
                                                      char const* what) const {
  wire::RangeResponse answer;
  auto const asked = client_.ask(
      read_limit_, what, client_.reading(&member::kv, &wire::KV::Stub::Range, request, answer));
  if (!asked.ok()) return asked;
  return answer;
}

muster::status etcd_store::scan(std::string from, std::string const& end, bool keys_only,
                                std::function<bool(wire::KeyValue&)> const& v) const {
  auto page = page_first;
  for (;;) {
    wire::RangeRequest request;
    request.set_key(from);
    request.set_range_end(end);
    request.set_limit(page);
    request.set_keys_only(keys_only);
    auto answer = range(request, "for entries");
    if (!answer) return answer.error();
    auto const bytes = answer->ByteSizeLong();
    for (auto& kv : *answer->mutable_kvs())
      if (!v(kv)) return {};
    if (!answer->more() || answer->kvs().empty()) return {};
    from = answer->kvs(answer->kvs_size() - 1).key() + '\0';
    if (bytes < page_bytes / 4) page = std::min(page * 4, page_max);
    if (bytes > page_bytes) page = std::max<std::int64_t>(page / 4, 8);
  }
}

muster::result<std::string> etcd_store::whole(std::string_view key, std::string_view value) const {
  if (value.starts_with('=')) return std::string(value.substr(1));
  auto const number = referenced(value);
  if (!number) return damaged(name_of(key).text() + " has an unknown format");
  std::string all;
  std::size_t pieces = 0;
  bool mine = false;
  auto const first = names_.piece(*number, 0);
  auto const read =
      scan(first, behind(names_.pieces(*number)), false, [&](wire::KeyValue const& kv) {
        if (kv.key() == first)
          mine = kv.value() == key;
        else
          all += kv.value(), ++pieces;
        return true;
      });
  if (!read.ok()) return read;
  if (!mine || pieces == 0) return damaged("the value of " + name_of(key).text() + " is missing");
  return all;
}

muster::status etcd_store::read(std::string_view prefix, visitor const& v) const {
  auto const from = names_.entry(prefix);
  auto const skipped = names_.entry({}).size();
  muster::status wrong;
  auto const read = scan(from, behind(from), false, [&](wire::KeyValue const& kv) {
    auto const key = std::string_view(kv.key()).substr(skipped);
    if (kv.value().starts_with('=')) return v(key, std::string_view(kv.value()).substr(1));
    auto const value = whole(key, kv.value());
    if (value) return v(key, *value);
    wrong = value.error();
    return false;
  });
  return read.ok() ? wrong : read;
}

void etcd_store::check_space() const {
  wire::StatusResponse answer;
  auto const s = client_.once(write_limit, [&](member& m, grpc::ClientContext& context) {
    return m.maintenance->Status(&context, {}, &answer);
  });
  if (!s.ok()) return;
  knows_space_ = true;
  version_ = answer.version();
  size_ = static_cast<std::uint64_t>(answer.dbsize());
  // etcd before 3.4 does not return the size in use. Free space inside the file is reused after a
  // compaction.
  in_use_ = answer.dbsizeinuse() > 0 ? static_cast<std::uint64_t>(answer.dbsizeinuse()) : size_;
}

std::uint64_t etcd_store::bytes_on_disk() const {
  check_space();
  return size_;
}

std::optional<std::uint64_t> etcd_store::bytes_free() const {
  if (no_space_) return 0;
  check_space();
  if (!knows_space_) return {};
  return options_.bytes_max - std::min(in_use_, options_.bytes_max);
}

}  // namespace muster::server::journal::etcd
