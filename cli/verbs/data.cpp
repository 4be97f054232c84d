// muster data: maintains a server's stored data, in a directory or in etcd, while no server runs.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>

#include "app/process_setup.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "cli/actions.hpp"
#include "cli/data/report.hpp"
#include "cli/progress.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"
#include "cli/verbs/store_flags.hpp"
#include "server/journal/copy.hpp"
#include "server/journal/entries.hpp"
#include "server/journal/etcd/upkeep.hpp"

namespace muster::cli {
namespace {

namespace journal = muster::server::journal;
namespace etcd = muster::server::journal::etcd;

struct data_options {
  std::vector<std::string> words;
  output_format output = output_format::table;
  std::optional<std::string> kind, cluster;
  std::optional<std::uint64_t> limit;
  bool dry_run = false, drop = false;
  server::shared_store store;  // access to etcd; an argument contains the address
};

std::sig_atomic_t volatile broken_off = 0;

/// Prints progress. A signal interrupts the work cleanly.
class long_work {
 public:
  long_work() {
    for (auto const signal : {SIGINT, SIGTERM, SIGHUP})
      std::signal(signal, [](int) { broken_off = 1; });
  }
  bool operator()(std::string_view doing, std::uint64_t entries, std::uint64_t bytes) {
    auto const now = clock::now();
    if (now - last_report_at_ >= (screen_.drawing() ? drawn_every : said_every)) {
      last_report_at_ = now;
      auto const text = std::string(doing) + ": " + with_thousands(entries) + " entries, " +
                        with_thousands(bytes) + " bytes";
      if (screen_.drawing())
        screen_.draw(text);
      else
        std::cerr << text << std::endl;
    }
    return broken_off == 0;
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr clock::duration drawn_every = std::chrono::milliseconds(200);
  static constexpr clock::duration said_every = std::chrono::seconds(10);
  screen screen_{false};
  clock::time_point last_report_at_ = clock::now();
};

std::optional<etcd::access> etcd_of(std::string const& word, data_options const& o) {
  if (!word.starts_with("etcd://") && !word.starts_with("etcds://")) return {};
  return store_access(word, o.store);
}

opened open(std::string const& word, data_options const& o, journal::watcher const& watch = {},
            etcd::lost_values lost = etcd::lost_values::refuse) {
  opened r;
  if (auto const a = etcd_of(word, o)) {
    auto view = value_or_throw(etcd::etcd_view::open(*a, watch, lost));
    r.in_etcd = view.get();
    r.all = std::move(view);
  } else {
    auto view = value_or_throw(journal::rocks_view::open(word));
    r.directory = view.get();
    r.all = std::move(view);
  }
  return r;
}

checked look_at(std::string const& directory, data_options const& o) {
  long_work progress;
  checked c;
  // Repeats the check, because a running server may release a value and its blob between the two
  // reads.
  for (int looks = 0; looks < 3; ++looks) {
    c.from = open(directory, o, std::ref(progress));
    c.has = value_or_throw(journal::inspect(*c.from.all, std::ref(progress)));
    c.blobs = {};
    c.blobs.named = c.has.blobs.size();
    if (c.from.in_etcd && c.blobs.named > 0)
      c.has.notes.push_back(with_thousands(c.blobs.named) +
                            " blobs are referenced by values; the servers store them, not etcd");
    c.user = c.from.directory ? journal::user_of(directory) : std::nullopt;
    if (c.from.directory)
      c.blobs = value_or_throw(journal::read_blobs(directory, c.has.blobs, {}, std::ref(progress)));
    if (c.blobs.missing.empty() || !c.user) break;
  }
  return c;
}

int check(parsed_action const& words, data_options const& o) {
  auto const c = look_at(words.need(0, "DIR"), o);
  if (o.output == output_format::json)
    print_json(c);
  else
    print(c);
  print_missing_blobs(std::cerr, c.blobs);
  return c.blobs.missing.empty() ? exit_ok : exit_failed;
}

/// Text that is not UTF-8 becomes base64, with a suffix in its name.
void add_text(json::object& into, std::string name, std::string_view text) {
  bool const plain = is_utf8(text);
  into[plain ? name : name + "_base64"] = plain ? std::string(text) : base64(text);
}

std::string known_kinds() {
  std::string all;
  for (auto const& k : journal::entry_kinds())
    all += (all.empty() ? "" : ", ") + std::string(k.name);
  return all;
}

journal::entry_kind const* kind_wanted(parsed_action const& words, data_options const& o) {
  if (!o.kind) return nullptr;
  for (auto const& k : journal::entry_kinds())
    if (k.name == *o.kind) return &k;
  throw words.wrong("--kind " + *o.kind + " is not one of " + known_kinds());
}

/// Returns whether the reader is still reading. @throws command_error if output was lost, for
/// example on a full disk
bool is_read(std::ostream& out) {
  if (out) return true;
  if (errno == EPIPE) return false;
  throw command_error(exit_failed, std::string("cannot write: ") + std::strerror(errno));
}

int dump(parsed_action const& words, data_options const& o) {
  auto const* const wanted = kind_wanted(words, o);
  auto const view = open(words.need(0, "DIR"), o).all;
  value_or_throw(journal::format_of(*view));
  std::signal(SIGPIPE, SIG_IGN);
  std::uint64_t lines = 0, unreadable = 0;
  auto prefix = wanted ? std::string(wanted->tag) : std::string();
  if (wanted && !wanted->parts.empty()) prefix += '\0';
  auto const read = view->read(prefix, [&](std::string_view key, std::string_view value) {
    if (o.limit && lines == *o.limit) return false;
    auto const name = journal::name_of(key);
    if (wanted && name.kind != wanted) return true;
    auto const* const cluster = name.part("cluster");
    if (o.cluster && (!cluster || *cluster != *o.cluster)) return true;
    json::object line;
    line["kind"] = name.kind ? name.kind->name : std::string_view("unknown");
    for (auto const& p : name.parts) add_text(line, std::string(p.name), p.value);
    if (!name.kind) add_text(line, "name", key);
    auto text = json::serialize(line);
    if (auto const entry = name.kind ? journal::as_json(*name.kind, value) : std::nullopt) {
      text.back() = ',';
      text += "\"entry\":" + *entry + "}";
    } else {
      unreadable += name.kind != nullptr;
      line[name.kind ? "unreadable_base64" : "entry_base64"] = base64(value);
      text = json::serialize(line);
    }
    std::cout << text << '\n';
    ++lines;
    return is_read(std::cout);
  });
  if (!read.ok()) throw problem(read);
  if (!std::cout || !is_read(std::cout.flush())) return exit_ok;
  if (unreadable > 0)
    throw command_error(exit_failed, view->name() + ": its data is damaged: " +
                                         with_thousands(unreadable) + " entries cannot be read");
  return exit_ok;
}

int compact_etcd(etcd::access const& a) {
  auto const t = value_or_throw(etcd::drop_history(a));
  std::cout << a.where.text() << ": etcd has deleted its history up to revision " << t.revision;
  if (t.bytes > 0)
    std::cout << "; " << with_thousands(t.in_use_before) << " bytes in use before, "
              << with_thousands(t.in_use_after) << " after, in a file of "
              << with_thousands(t.bytes);
  std::cout << "\nto make that file smaller, run 'etcdctl defrag' on one member after the other\n";
  return exit_ok;
}

int compact(parsed_action const& words, data_options const& o) {
  auto const& directory = words.need(0, "DIR");
  if (auto const a = etcd_of(directory, o)) return compact_etcd(*a);
  auto const done = value_or_throw(journal::compact_store(directory));
  std::cout << directory << ": " << with_thousands(done.bytes_before) << " bytes before, "
            << with_thousands(done.bytes_after) << " after\n";
  return exit_ok;
}

std::string in_short(journal::copied const& done) {
  auto const of_blobs = done.blobs.blobs == 0
                            ? std::string()
                            : ", " + with_thousands(done.blobs.blobs) + " blobs of " +
                                  with_thousands(done.blobs.bytes) + " bytes";
  return with_thousands(done.entries) + " entries, " + with_thousands(done.bytes_on_disk) +
         " bytes on disk" + of_blobs;
}

journal::copied copied(std::string const& from, std::string const& to, data_options const& o) {
  long_work progress;
  auto const into = etcd_of(to, o);
  if (!into && !etcd_of(from, o))
    return value_or_throw(journal::copy_store(from, to, std::ref(progress)));
  auto const source = open(from, o, std::ref(progress));
  if (into)
    return value_or_throw(
        etcd::restore_into(*into, *source.all, std::ref(progress), on_leadership_lost("data")));
  return value_or_throw(journal::copy_store(*source.all, to, std::ref(progress)));
}

int backup(parsed_action const& words, data_options const& o) {
  auto const &from = words.need(0, "DIR"), &to = words.need(1, "TARGET");
  auto const done = copied(from, to, o);
  std::cout << to << ": a copy of " << from << ", " << in_short(done) << '\n';
  print_missing_blobs(std::cerr, done.blobs);
  return exit_ok;
}

int restore(parsed_action const& words, data_options const& o) {
  auto const &from = words.need(0, "TARGET"), &to = words.need(1, "DIR");
  auto const done = copied(from, to, o);
  std::cout << to << ": contains all data of " << from << ", " << in_short(done)
            << "; now start 'muster serve " << (etcd_of(to, o) ? "--store " : "--data-dir ") << to
            << "' with the flags of the old server\n";
  print_missing_blobs(std::cerr, done.blobs);
  return exit_ok;
}

void print(journal::report_lines const& report, std::string const& before) {
  for (auto const& line : report.lines) std::cout << before << for_terminal(line) << '\n';
  if (report.all > report.lines.size())
    std::cout << before << "and " << with_thousands(report.all - report.lines.size())
              << " more of these\n";
}

int plan_of_repair(std::string const& from, data_options const& o) {
  long_work progress;
  auto const source = open(from, o, std::ref(progress), etcd::lost_values::unreadable);
  auto const plan = value_or_throw(journal::plan_repair(*source.all, o.drop, std::ref(progress)));
  bool const refused = plan.unusable.all > 0 && !o.drop;
  print(plan.report, "planned change: ");
  if (refused) print(plan.unusable, "cannot repair without --drop: ");
  if (!refused)
    std::cout << from << (plan.changes.empty() ? ": needs no repair\n" : ": can be repaired\n");
  return refused ? exit_failed : exit_ok;
}

int repair(parsed_action const& words, data_options const& o) {
  auto const& from = words.need(0, "DIR");
  if (o.dry_run) return plan_of_repair(from, o);
  auto const& copy = words.need(1, "COPY");
  if (etcd_of(copy, o)) throw words.wrong("COPY must be a directory, not an etcd address");
  long_work progress;
  auto const a = etcd_of(from, o);
  auto const done = value_or_throw(
      a ? etcd::repair_prefix(*a, copy, o.drop, std::ref(progress), on_leadership_lost("data"))
        : journal::repair_store(from, copy, o.drop, std::ref(progress)));
  print(done.report, "");
  if (done.changes.empty())
    std::cout << from << ": needs no repair\n";
  else
    std::cout << from << ": repaired, " << counted(done.moved, "closure", "closures")
              << " renamed, " << counted(done.removed, "entry", "entries") << " removed; " << copy
              << " contains a complete copy of the previous state\n";
  return exit_ok;
}

int run_data(data_options& o) {
  parsed_action const words(
      "data", o.words,
      {{"check", 1}, {"dump", 1}, {"compact", 1}, {"backup", 2}, {"restore", 2}, {"repair", 2}});
  if ((o.dry_run || o.drop) && words.action() != "repair")
    throw words.wrong("--dry-run and --drop are for 'muster data repair'");
  server::raise_file_limit();  // each file in the directory is kept open
  if (words.action() == "check") return check(words, o);
  if (words.action() == "dump") return dump(words, o);
  if (words.action() == "compact") return compact(words, o);
  if (words.action() == "backup") return backup(words, o);
  if (words.action() == "repair") return repair(words, o);
  return restore(words, o);
}

}  // namespace

void add_data(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(
      app, chosen, "data",
      "Check, list, shrink, back up, restore or repair a server's --data-dir or --store", run_data);
  add_value(*verb, "action", o->words,
            "check DIR | dump DIR | compact DIR | backup DIR TARGET | restore TARGET DIR | "
            "repair DIR COPY",
            "What to do");
  add_output_option(*verb, o->output);
  verb->get_option("--output")->description("check: output format, table or json");
  // These flags are not read from the environment or a file, because a dump that silently lacks
  // entries is misleading.
  add_value(*verb, "--kind", o->kind, "KIND", "dump: only these entries: " + known_kinds())
      ->configurable(false);
  add_value(*verb, "--cluster", o->cluster, "NAME", "dump: only entries of this cluster")
      ->configurable(false);
  add_value(*verb, "--limit", o->limit, "N", "dump: maximum number of entries")
      ->configurable(false);
  verb->add_flag("--dry-run", o->dry_run,
                 "repair: print what would change, without changing anything")
      ->configurable(false);
  verb->add_flag(
          "--drop", o->drop,
          "repair: remove entries that cannot be made readable, instead of refusing the repair")
      ->configurable(false);
  add_store_access(*verb, o->store);
  verb->footer(
      "DIR and TARGET are directories, or etcd://[USER@]HOST:2379[,HOST:2379...]/PREFIX as in\n"
      "'muster serve --store'; a backup of one kind can be restored into the other. Blobs of a\n"
      "directory are checked and copied too; etcd has none.\n"
      "check, dump and backup change nothing, and work while a server runs. compact, restore and\n"
      "repair need a server that is stopped or has never been started. repair fixes a store that "
      "no\n"
      "server can load, after copying all of it to the new directory COPY. backup and restore "
      "create\n"
      "TARGET.partial or DIR.partial and rename it when it is complete. In etcd, restore needs an\n"
      "empty prefix, and compact makes etcd delete its history, also while a server runs.\n"
      "Exit status: 0 success, 1 damaged or failed, 2 not a data directory, in use, or written by "
      "a newer server.\n"
      "Examples:\n"
      "  muster data check /var/lib/muster/data\n"
      "  muster data dump /var/lib/muster/data --kind key --cluster train | jq -r .key\n"
      "  muster data backup /var/lib/muster/data /backup/muster-$(date +%F)\n"
      "  muster data restore /backup/muster-2026-01-31 /var/lib/muster/data\n"
      "  muster data backup etcd://10.0.0.1:2379,10.0.0.2:2379/muster /backup/muster-$(date +%F)\n"
      "  muster data repair etcd://10.0.0.1:2379/muster --dry-run\n"
      "  muster data repair etcd://10.0.0.1:2379/muster /backup/muster-before-repair\n"
      "See docs/backup-and-restore.md.");
}

}  // namespace muster::cli
