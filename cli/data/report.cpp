#include "cli/data/report.hpp"

#include <iostream>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"

namespace muster::cli {

namespace journal = muster::server::journal;

namespace {

json::object as_json(journal::entry_count const& c) {
  return {{"kind", c.kind}, {"entries", c.entries}, {"bytes", c.bytes}};
}

void print_place(opened const& from, std::optional<int> user) {
  if (auto const* e = from.in_etcd) {
    std::cout << with_thousands(e->bytes_on_disk()) << " bytes of keys and values at revision "
              << e->revision() << " of etcd\n"
              << (e->leader().empty() ? "no server is the leader"
                                      : "the leader is " + for_terminal(e->leader()))
              << '\n';
    return;
  }
  std::cout << with_thousands(from.directory->files()) << " files, "
            << with_thousands(from.directory->bytes_on_disk()) << " bytes on disk\n";
  if (user)
    std::cout << "a server is using the directory"
              << (*user > 0 ? ", process " + std::to_string(*user) : std::string()) << '\n';
}

}  // namespace

void print_json(checked const& all_of) {
  auto const& [from, c, blobs, user] = all_of;
  json::array known, unknown, notes, missing;
  for (auto const& m : blobs.missing) missing.push_back(json::string(m));
  for (auto const& k : c.known) known.push_back(as_json(k));
  for (auto const& k : c.unknown) unknown.push_back(as_json(k));
  for (auto const& n : c.notes) notes.push_back(json::string(n));
  bool const in_etcd = from.in_etcd;
  json::object all = {{in_etcd ? "store" : "directory", to_utf8(from.all->name())},
                      {"format", c.format},
                      {"written_by", c.written_by},
                      {"epoch", c.epoch},
                      {"in_use", in_etcd ? !from.in_etcd->leader().empty() : user.has_value()},
                      {"entries", std::move(known)},
                      {"unknown", std::move(unknown)},
                      {"blobs",
                       {{"blobs", blobs.blobs},
                        {"bytes", blobs.bytes},
                        {"named", blobs.named},
                        {"missing", std::move(missing)}}},
                      {"bytes_on_disk", from.all->bytes_on_disk()},
                      {"notes", std::move(notes)}};
  if (in_etcd) {
    all["leader"] = to_utf8(from.in_etcd->leader());
    all["revision"] = from.in_etcd->revision();
  } else {
    all["process"] = user.value_or(0) > 0 ? json::value(*user) : json::value();
    all["files"] = from.directory->files();
  }
  std::cout << json::serialize(all) << '\n';
}

void print(checked const& all_of) {
  auto const& [from, c, blobs, user] = all_of;
  table rows({"KIND", right("ENTRIES"), right("BYTES")});
  for (auto const& k : c.known)
    rows.add({k.kind, with_thousands(k.entries), with_thousands(k.bytes)});
  for (auto const& k : c.unknown)
    rows.add({"unknown '" + k.kind + "'", with_thousands(k.entries), with_thousands(k.bytes)});
  if (from.directory) rows.add({"blob", with_thousands(blobs.blobs), with_thousands(blobs.bytes)});
  rows.print(std::cout);
  std::cout << "format " << c.format << ", written by muster " << for_terminal(c.written_by)
            << ", epoch " << c.epoch << '\n';
  print_place(from, user);
  for (auto const& note : c.notes) std::cout << "note: " << for_terminal(note) << '\n';
  if (!c.unknown.empty())
    std::cout << "note: entries of unknown kinds were written by a newer server; this program does "
                 "not check them\n";
  if (blobs.missing.empty())
    std::cout << for_terminal(from.all->name()) << ": all data can be read\n";
}

void print_missing_blobs(std::ostream& out, journal::found_blobs const& blobs) {
  for (auto const& line : blobs.missing) out << "note: " << line << '\n';
}

}  // namespace muster::cli
