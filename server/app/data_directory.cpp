#include "server/app/data_directory.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "muster/journal/v1/records.pb.h"
#include "server/journal/rocks_store.hpp"

namespace muster::server {
namespace {

// What this server writes. A directory with a higher one is refused, of a lower one the missing
// fields have their defaults.
constexpr std::uint32_t format = 1;
constexpr auto format_key = "format";

}  // namespace

// Reads everything before it changes anything.
muster::status data_directory::begin(std::string const& version, coordination_hub& into) {
  auto const begun = std::chrono::steady_clock::now();
  muster::journal::v1::Format f;
  bool readable = true;
  auto const read = store_->read(format_key, [&](std::string_view, std::string_view value) {
    readable = f.ParseFromArray(value.data(), static_cast<int>(value.size()));
    return false;
  });
  if (!read.ok()) return read;
  if (!readable) return {code::failed_precondition, "the entry of its format cannot be read"};
  if (f.version() > format)
    return {code::failed_precondition, "was written by a newer server (" + f.written_by() +
                                           ", format " + std::to_string(f.version()) +
                                           "; this one knows " + std::to_string(format) +
                                           "): start that one, or name another directory"};
  auto clusters = journal::load_clusters(*store_);
  if (!clusters) return clusters.error();
  std::size_t tasks = 0, keys = 0;
  for (auto& c : *clusters) {
    tasks += c.tasks.size(), keys += c.keys.size();
    auto const name = c.cluster.spec.name;
    if (auto const restored = into.restore(std::move(c)); !restored.ok())
      return {restored.code, "cluster " + name + ": " + restored.message};
  }
  f.set_version(format);
  f.set_written_by(version);
  f.set_epoch(f.epoch() + 1);
  epoch_ = f.epoch();
  restored_in_ =
      std::chrono::duration_cast<core::duration>(std::chrono::steady_clock::now() - begun);
  auto const took = std::chrono::duration_cast<std::chrono::milliseconds>(restored_in_);
  spdlog::info("restored data_dir={} epoch={} clusters={} tasks={} keys={} took_ms={}",
               directory_.string(), f.epoch(), clusters->size(), tasks, keys, took.count());
  return store_->write({{journal::change::kind::put, format_key, f.SerializeAsString()}});
}

muster::status data_directory::open(std::filesystem::path const& directory,
                                    std::string const& version, coordination_hub& into) {
  directory_ = directory;
  auto opened = journal::rocks_store::open(directory);
  if (!opened) return opened.error();
  store_ = std::move(*opened);
  auto begun = begin(version, into);
  if (begun.ok()) return begun;
  begun.message = directory.string() + ": " + begun.message;
  store_.reset();
  return begun;
}

void data_directory::start(journal::journal::progress p) {
  journal_ = std::make_unique<journal::journal>(std::move(store_), journal::journal_options{},
                                                std::move(p));
}

std::uint64_t data_directory::write_down(std::vector<core::coordination::fact> const& facts) {
  std::vector<journal::change> batch;
  journal::encode(facts, batch);
  return journal_->append(std::move(batch));
}

store_view data_directory::view() const {
  auto const facts = journal_->facts();
  return {directory_.string(), epoch_, restored_in_, facts.waiting_bytes, facts.disk_bytes};
}

notice data_directory::failure(muster::status const& why) const {
  return {core::coordination::severity::error,
          "journal_failed",
          {},
          directory_.string(),
          why.message +
              "; nothing that has to be written down is taken any more: find out what is "
              "wrong with the disk, then start the server again"};
}

void data_directory::stop() {
  if (journal_) journal_->stop();
}

void data_directory::tell_rest(coordination_hub& hub) const {
  if (!journal_) return;
  auto const facts = journal_->facts();
  hub.on_durable(facts.durable, facts.failed);
}

}  // namespace muster::server
