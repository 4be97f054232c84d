#include "app/data_directory.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "app/process_setup.hpp"
#include "base/no_room.hpp"
#include "muster/journal/v1/records.pb.h"
#include "server/journal/entries.hpp"
#include "server/journal/etcd/etcd_version.hpp"
#include "server/journal/rocks_store.hpp"

namespace muster::server {
namespace {

// Job and session numbers are reserved in blocks, so that writes are rare. Non-durable sessions use
// reserved numbers without a write.
constexpr std::uint64_t reserved_at_once = std::uint64_t{1} << 20;
constexpr std::uint64_t reserved_least = reserved_at_once / 2;

std::string mib(std::uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

muster::status data_directory::begin(std::string const& version, coordination_hub& into) {
  auto const begun = std::chrono::steady_clock::now();
  auto const format = journal::read_format(*store_);
  if (!format) return format.error();
  auto const& f = *format;
  if (f.version() > journal::format_known)
    return {code::failed_precondition,
            "was written by a newer server (" + f.written_by() + ", format " +
                std::to_string(f.version()) + "; this server supports format " +
                std::to_string(journal::format_known) +
                " and earlier); start the newer server, or use another directory"};
  auto tokens = journal::load_tokens(*store_);
  if (!tokens) return tokens.error();
  tokens_ = std::move(*tokens);
  reading_("clusters from " + name_ + " (1 of 2)");
  auto clusters = journal::load_clusters(*store_);
  if (!clusters) return clusters.error();
  std::size_t tasks = 0, keys = 0;
  for (auto& c : *clusters) {
    tasks += c.tasks.size(), keys += c.keys.size();
    auto const name = c.cluster.spec.name;
    if (auto const restored = into.restore(std::move(c)); !restored.ok())
      return {restored.code, "cluster " + name + ": " + restored.message};
  }
  auto const clusters_read = std::chrono::steady_clock::now();
  reading_("jobs from " + name_ + " (2 of 2)");
  auto jobs = journal::load_jobs(*store_);
  if (!jobs) return jobs.error();
  jobs_ = std::move(*jobs);
  auto programs = journal::load_programs(*store_);
  if (!programs) return programs.error();
  programs_ = std::move(*programs);
  auto records = journal::load_records(*store_);
  if (!records) return records.error();
  records_ = std::move(*records);
  std::size_t known = 0, closures = 0;
  for (auto const& j : jobs_) {
    known += j.job.job.id != core::session_id{};
    for (auto const& a : j.job.accepted) closures += a.closures.size();
  }
  version_ = version;
  epoch_ = f.epoch() + 1;
  identity_ = f.identity() ? f.identity() : random_64();
  sessions_before_ = f.sessions();
  if (!jobs_.empty()) sessions_before_ = std::max(sessions_before_, raw(jobs_.back().job.job.id));
  sessions_reserved_ = sessions_before_ + reserved_at_once;
  restored_in_ =
      std::chrono::duration_cast<core::duration>(std::chrono::steady_clock::now() - begun);
  auto const took = std::chrono::duration_cast<std::chrono::milliseconds>(restored_in_);
  auto const first = std::chrono::duration_cast<std::chrono::milliseconds>(clusters_read - begun);
  spdlog::info(
      "restored {}={} epoch={} clusters={} tasks={} keys={} clusters_ms={} jobs={} "
      "closures={} programs={} jobs_ms={} took_ms={}",
      is_directory_ ? "data_dir" : "store", name_, epoch_, clusters->size(), tasks, keys,
      first.count(), known, closures, programs_.size(), (took - first).count(), took.count());
  return store_->write({format_entry()});
}

journal::change data_directory::format_entry() const {
  muster::journal::v1::Format f;
  f.set_version(journal::format_known);
  f.set_written_by(version_);
  f.set_epoch(epoch_);
  f.set_sessions(sessions_reserved_);
  f.set_identity(identity_);
  return {journal::change::kind::put, journal::format_key, f.SerializeAsString()};
}

muster::status data_directory::open(std::filesystem::path const& directory,
                                    std::string const& version, coordination_hub& into) {
  auto opened = journal::rocks_store::open(directory);
  if (!opened) return opened.error();
  return open(std::move(*opened), directory.string(), version, into, true);
}

muster::status data_directory::open(std::unique_ptr<journal::store> s, std::string name,
                                    std::string const& version, coordination_hub& into,
                                    bool is_directory) {
  name_ = std::move(name);
  is_directory_ = is_directory;
  store_ = std::move(s);
  auto begun = begin(version, into);
  if (begun.ok()) return begun;
  begun.message = name_ + ": " + begun.message;
  store_.reset();
  return begun;
}

void data_directory::start(journal::journal_options o) {
  journal_ = std::make_unique<journal::journal>(
      std::move(store_), o, [this](std::uint64_t durable, muster::status const& failed) {
        dependencies_.post([this, durable, failed] { written(durable, failed); });
      });
  report_disk_space();
  if (auto const version = journal_->facts().store_version;
      journal::etcd::can_answer_with_old_data(version))
    spdlog::warn(
        "etcd_version store={} version={} why=\"this version can return data that is older than "
        "acknowledged writes (etcd issue 20418); the server rejects such answers; use etcd 3.6.9 "
        "or later\"",
        name_, version);
}

void data_directory::written(std::uint64_t durable, muster::status const& failed) {
  if (!failed.ok())
    dependencies_.tell({core::coordination::severity::error,
                        "journal_failed",
                        {},
                        name_,
                        failed.message + "; the server refuses all requests that have to be "
                                         "stored: repair the disk, then restart the server"});
  report_disk_space();
  commits_.on_durable(durable, failed, dependencies_.now());
}

void data_directory::attach_to(coordination_dependencies& hub) {
  hub.commits = &commits_;
  hub.journal_refusal = [this] { return refusal(); };
  hub.write_down = [this](auto const& facts) { write_down(facts); };
}

void data_directory::attach_to(hub_dependencies& hub, std::string const& cluster) {
  hub.journal = {[this, cluster](auto const& facts) { write_down(cluster, facts); }, &commits_,
                 [this] { return refusal(); }};
  hub.programs.write = [this, cluster](auto const& facts) { write_down(cluster, facts); };
  hub.programs.write_record = [this](auto const& which, auto const* what) {
    write_down(which.program, which.attempt, what);
  };
}

void data_directory::write_down(std::string const& cluster, std::vector<core::fact> const& facts) {
  std::vector<journal::change> batch;
  for (auto const& f : facts)
    if (auto const* job = std::get_if<core::job_fact>(&f);
        job && raw(job->id) + reserved_least > sessions_reserved_) {
      sessions_reserved_ = raw(job->id) + reserved_at_once;
      batch.push_back(format_entry());
    }
  journal::encode(cluster, facts, batch);
  commits_.wrote(journal_->append(std::move(batch)));
}

store_view data_directory::view() const {
  auto const facts = journal_->facts();
  store_view v{name_, epoch_, restored_in_, facts.waiting_bytes, facts.disk_bytes};
  v.version = facts.store_version;
  v.free_bytes = facts.free_bytes;
  v.full_since = full_since_;
  if (full_since_ != core::never) v.full = no_room_status(facts).message;
  return v;
}

muster::status data_directory::refusal() const {
  if (!journal_ || !journal_->full()) return {};
  auto const facts = journal_->facts();
  if (facts.disk_is_full) return no_room_status(facts);
  return {code::resource_exhausted, name_ + " is slow: " + mib(facts.waiting_bytes) +
                                        " wait to be written; try again in a second"};
}

muster::status data_directory::no_room_status(journal::journal_stats const& facts) const {
  auto const reserve = journal::journal_options{}.reserve_bytes;
  auto const free = facts.free_bytes.value_or(0);
  // A large write can need more than the reserve, and a quota can be lower than the free space.
  auto const why = free < reserve ? "the last " + mib(reserve) + " are reserved for accepted work"
                                  : "a write failed because the disk was full";
  return no_room(name_, mib(free) + " are free, and " + why +
                            "; free some space; the server then continues automatically");
}

void data_directory::report_disk_space() {
  auto const facts = journal_->facts();
  if ((full_since_ != core::never) == facts.disk_is_full) return;
  full_since_ = facts.disk_is_full ? dependencies_.now() : core::never;
  using core::coordination::severity;
  if (!facts.disk_is_full)
    return dependencies_.tell({severity::info,
                               "journal_disk_has_room",
                               {},
                               name_,
                               mib(facts.free_bytes.value_or(0)) + " are free"});
  dependencies_.tell(
      {severity::error, "journal_disk_full", {}, name_, no_room_status(facts).message});
}

void data_directory::stop() {
  if (!journal_) return;
  bool const could_write = journal_->facts().failed.ok();
  journal_->stop();
  auto const facts = journal_->facts();
  if (could_write && !facts.failed.ok())
    spdlog::error("not_written store={} waiting_bytes={} why=\"{}\"", name_, facts.waiting_bytes,
                  facts.failed.message);
}

void data_directory::answer_waiting_requests() {
  if (!journal_) return;
  auto const facts = journal_->facts();
  commits_.on_durable(facts.durable, facts.failed, dependencies_.now());
}

}  // namespace muster::server
