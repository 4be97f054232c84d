#include "server/journal/inspection.hpp"

#include <random>

#include "server/journal/entries.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/rocks_view.hpp"
#include "tests/journal/directory.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::server::journal {
namespace inspection_cases {

namespace fs = std::filesystem;

muster::result<contents> checked(fs::path const& at) {
  auto const view = rocks_view::open(at);
  if (!view) return view.error();
  return inspect(**view);
}

std::string counts(std::vector<entry_count> const& of) {
  std::string text;
  for (auto const& c : of) text += c.kind + "=" + std::to_string(c.entries) + " ";
  return text;
}

void write(fs::path const& at, std::vector<change> const& batch) {
  ASSERT_TRUE(opened(at)->write(batch).ok());
}

#define EXPECT_REFUSED(result, which, part)                                                      \
  do {                                                                                           \
    auto const refused = (result);                                                               \
    ASSERT_FALSE(refused.has_value());                                                           \
    EXPECT_EQ(refused.error().code, which) << refused.error().message;                           \
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message; \
    EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);                            \
  } while (false)

TEST(inspection, counts_all_entries) {
  test::temporary_directory t;
  auto batch = some_entries(3);
  batch.push_back({change::kind::put, std::string("z\0what", 6), "?"});
  batch.push_back({change::kind::put, std::string("z\0ever", 6), "?"});
  write(t / "d", batch);
  auto const c = checked(t / "d");
  ASSERT_TRUE(c.has_value()) << c.error().message;
  EXPECT_EQ(
      counts(c->known),
      "format=1 cluster=1 task=1 key=3 barrier=0 job=0 accepted=0 closure=0 per_worker=0 token=0 "
      "program=0 program_course=0 program_attempt=0 placement=0 dead_rank=0 attempt_record=0 ");
  EXPECT_EQ(counts(c->unknown), "z=2 ");
  EXPECT_EQ(c->entries(), 8u);
  EXPECT_EQ(c->written_by, "9.9");
  EXPECT_EQ(c->epoch, 7u);
  EXPECT_TRUE(c->notes.empty()) << c->notes[0];
}

TEST(inspection, reports_jobs_and_inconsistent_closures) {
  test::temporary_directory t;
  std::vector<change> batch;
  core::job_fact job;
  job.id = core::session_id{7};
  core::accepted_fact closures{job.id, 0, {}, {"f"}, {}};
  closures.closures.push_back({core::closure_id{1ull << 32}, 0, core::blob("[1]"), nullptr});
  core::closure_fact ended;
  ended.job = job.id;
  ended.state = core::closure_state::succeeded;
  encode("train", {job, closures, ended}, batch);
  auto all = some_entries(1);
  all.insert(all.end(), batch.begin(), batch.end());
  write(t / "d", all);
  auto const c = checked(t / "d");
  ASSERT_TRUE(c.has_value()) << c.error().message;
  EXPECT_EQ(
      counts(c->known),
      "format=1 cluster=1 task=1 key=1 barrier=0 job=1 accepted=1 closure=1 per_worker=0 token=0 "
      "program=0 program_course=0 program_attempt=0 placement=0 dead_rank=0 attempt_record=0 ");
  write(t / "d", {{change::kind::erase, batch[1].key, {}}});
  EXPECT_REFUSED(checked(t / "d"), code::internal,
                 "closure \"0000000000000007\" \"0000000000\" cannot be read, or contradicts");
}

TEST(inspection, counts_entries_of_many_unknown_kinds) {
  test::temporary_directory t;
  auto batch = some_entries();
  for (char k = 'A'; k <= 'Z'; ++k)
    batch.push_back({change::kind::put, std::string(1, k) + '\0', "?"});
  write(t / "d", batch);
  auto const c = checked(t / "d");
  ASSERT_TRUE(c.has_value());
  EXPECT_EQ(c->unknown.size(), 16u);
  EXPECT_EQ(c->unknown.back().kind, "others");
  EXPECT_EQ(c->unknown.back().entries, 11u);
}

TEST(inspection, reads_a_snapshot_while_the_server_writes) {
  test::temporary_directory t;
  auto s = opened(t / "d");
  ASSERT_TRUE(s->write(some_entries(500)).ok());
  ASSERT_TRUE(s->compact().ok());
  ASSERT_TRUE(s->write(some_entries(600)).ok());
  auto const view = rocks_view::open(t / "d");
  ASSERT_TRUE(view.has_value()) << view.error().message;
  // Deletes tables and logs that the view reads.
  ASSERT_TRUE(s->write(some_entries(700)).ok());
  ASSERT_TRUE(s->compact().ok());
  ASSERT_TRUE(s->compact().ok());
  auto const c = inspect(**view);
  ASSERT_TRUE(c.has_value()) << c.error().message;
  EXPECT_EQ(c->known[3].entries, 600u);
  EXPECT_EQ(checked(t / "d")->known[3].entries, 700u);
  EXPECT_EQ((*view)->write({}).code, code::failed_precondition);
}

TEST(inspection, changes_nothing) {
  test::temporary_directory t;
  write(t / "d", some_entries());
  ASSERT_TRUE(opened(t / "d")->compact().ok());
  auto const before = state_of(t / "d");
  ASSERT_TRUE(checked(t / "d").has_value());
  EXPECT_EQ(state_of(t / "d"), before);
}

TEST(inspection, rejects_directories_of_other_programs) {
  test::temporary_directory t;
  EXPECT_REFUSED(checked(t / "no"), code::failed_precondition, (t / "no").string());
  fs::create_directory(t / "d");
  EXPECT_REFUSED(checked(t / "d"), code::failed_precondition, "contains no Muster server data");
  std::ofstream(t / "d/thesis.tex") << "precious";
  EXPECT_REFUSED(checked(t / "d"), code::failed_precondition, "contains no Muster server data");
  EXPECT_REFUSED(checked(t / "d/thesis.tex"), code::failed_precondition, "is not a directory");
  // A foreign RocksDB, or a killed copy.
  write(t / "e", {{change::kind::put, "formats", "x"}});
  EXPECT_REFUSED(checked(t / "e"), code::failed_precondition, "is not Muster server");
}

TEST(inspection, refuses_data_of_a_newer_server) {
  test::temporary_directory t;
  write(t / "d", {{change::kind::put, "format", format_entry(format_known + 1)}});
  EXPECT_REFUSED(checked(t / "d"), code::failed_precondition,
                 (t / "d").string() + ": was written by a newer server (9.9, format " +
                     std::to_string(format_known + 1));
}

TEST(inspection, names_the_entry_that_cannot_be_read) {
  using namespace std::string_literals;
  for (auto const& [key, text] :
       {std::pair{"format"s, "format entry"s},
        {"c\0other\0"s, "cluster 'other'"s},
        {"k\0train\0a/b"s, "key \"a/b\" of cluster 'train'"s},
        {"t\0train\0"s + "00000001", "task \"00000001\" of cluster 'train'"s},
        {"b\0train\0step"s, "barrier \"step\" of cluster 'train'"s}}) {
    test::temporary_directory t;
    auto batch = some_entries();
    batch.push_back({change::kind::put, key, "\xff\xff"});
    write(t / "d", batch);
    EXPECT_REFUSED(checked(t / "d"), code::internal, text);
  }
  test::temporary_directory e;
  write(e / "d", {{change::kind::put, "format", ""}});
  EXPECT_REFUSED(checked(e / "d"), code::internal, "format entry");
  // Inconsistent: the cluster has two tasks.
  test::temporary_directory t;
  auto batch = some_entries();
  batch.push_back({change::kind::put, "t\0train\0"s + "00000099", batch[2].value});
  write(t / "d", batch);
  EXPECT_REFUSED(checked(t / "d"), code::internal, "00000099");
}

TEST(inspection, notes_entries_that_a_server_would_skip) {
  test::temporary_directory t;
  auto batch = some_entries();
  batch.push_back({change::kind::put, std::string("k\0gone\0x", 8), ""});
  write(t / "d", batch);
  auto const c = checked(t / "d");
  ASSERT_TRUE(c.has_value());
  ASSERT_EQ(c->notes.size(), 1u);
  EXPECT_NE(c->notes[0].find("1 entry belongs to clusters that do not exist"), std::string::npos);
}

TEST(inspection, notes_a_torn_last_write) {
  test::temporary_directory t;
  auto s = opened(t / "d");
  ASSERT_TRUE(s->write(some_entries(3)).ok());
  auto const log = file_of(t / "d", ".log");
  auto const whole = fs::file_size(log);
  ASSERT_TRUE(s->write(some_entries(10)).ok());
  s.reset();
  fs::resize_file(log, fs::file_size(log) - 10);
  auto const c = checked(t / "d");
  ASSERT_TRUE(c.has_value()) << c.error().message;
  EXPECT_EQ(c->known[3].entries, 3u);
  ASSERT_EQ(c->notes.size(), 1u);
  EXPECT_NE(
      c->notes[0].find(log.filename().string() + ": the record at byte " + std::to_string(whole)),
      std::string::npos)
      << c->notes[0];
  EXPECT_NE(c->notes[0].find("(at least 10 bytes are missing)"), std::string::npos) << c->notes[0];
}

// Flips one bit every `step` bytes; skips the last `without` bytes.
void expect_found(fs::path const& directory, std::string const& part, std::size_t step,
                  std::size_t without = 0) {
  auto const file = file_of(directory, part);
  auto const bytes = test::read_file(file);
  ASSERT_GT(bytes.size(), 50u);
  for (std::size_t i = 0; i + without < bytes.size(); i += step) {
    set_byte(file, i, static_cast<char>(bytes[i] ^ 1 << i % 8));
    auto const c = checked(directory);
    EXPECT_FALSE(c.has_value()) << file << " byte " << i << " of " << bytes.size();
    if (!c) {
      EXPECT_EQ(c.error().code, code::internal) << c.error().message;
      EXPECT_NE(c.error().message.find(file.filename().string()), std::string::npos)
          << "byte " << i << ": " << c.error().message;
    }
    set_byte(file, i, bytes[i]);
  }
  EXPECT_TRUE(checked(directory).has_value());
}

TEST(inspection, finds_a_wrong_bit_in_a_table) {
  test::temporary_directory t;
  auto s = opened(t / "d");
  ASSERT_TRUE(s->write(some_entries(200)).ok());
  ASSERT_TRUE(s->compact().ok());
  s.reset();
  expect_found(t / "d", ".sst", 17);
}

// Older servers had no checksum of the whole file. Deleted entries are checked, the footer is not.
TEST(inspection, finds_a_wrong_bit_in_a_table_of_an_older_server) {
  test::temporary_directory t;
  auto options = rocks::options();
  options.file_checksum_gen_factory = nullptr;
  auto const db = opened_as(t / "d", options);
  for (auto const& e : some_entries(200)) ASSERT_TRUE(db->Put({}, e.key, e.value).ok());
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    std::string value(2000, 0);
    for (auto& c : value) c = static_cast<char>(random());
    ASSERT_TRUE(db->Put({}, "z" + std::to_string(i), value).ok());
  }
  ASSERT_TRUE(db->Flush({}).ok());
  auto const table = file_of(t / "d", ".sst").filename();
  ASSERT_TRUE(db->DeleteRange({}, db->DefaultColumnFamily(), "z", "zz").ok());
  ASSERT_TRUE(db->Flush({}).ok());
  ASSERT_TRUE(db->Close().ok());
  constexpr std::size_t footer = 53;
  expect_found(t / "d", table, 301, footer);
}

TEST(inspection, finds_a_wrong_bit_in_the_log) {
  test::temporary_directory t;
  write(t / "d", some_entries(20));
  expect_found(t / "d", ".log", 5);
}

// RocksDB takes a wrong length for a torn record and drops it.
TEST(inspection, finds_damage_that_rocksdb_drops_silently) {
  test::temporary_directory t;
  auto s = opened(t / "d");
  ASSERT_TRUE(s->write(some_entries()).ok());
  auto const log = file_of(t / "d", ".log");
  auto const last = fs::file_size(log);
  ASSERT_TRUE(s->write({{change::kind::put, std::string("k\0train\0last", 12), ""}}).ok());
  s.reset();
  set_byte(log, last + 5, 1);
  auto const where = log.filename().string() + ": the record at byte " + std::to_string(last);
  EXPECT_REFUSED(checked(t / "d"), code::internal, where);
  auto const before = state_of(t / "d");
  EXPECT_REFUSED(rocks_store::open(t / "d"), code::failed_precondition, where);
  EXPECT_EQ(state_of(t / "d"), before);
  std::string value;
  EXPECT_TRUE(opened_as(t / "d", rocks::options())
                  ->Get({}, std::string("k\0train\0last", 12), &value)
                  .IsNotFound())
      << "RocksDB detects it now: walk_log is no longer needed";
}

TEST(inspection, finds_a_wrong_bit_in_the_manifest) {
  test::temporary_directory t;
  auto s = opened(t / "d");
  ASSERT_TRUE(s->write(some_entries(20)).ok());
  ASSERT_TRUE(s->compact().ok());
  s.reset();
  expect_found(t / "d", "MANIFEST", 3);
}

TEST(inspection, finds_a_missing_file) {
  test::temporary_directory t;
  auto s = opened(t / "d");
  ASSERT_TRUE(s->write(some_entries(20)).ok());
  ASSERT_TRUE(s->compact().ok());
  s.reset();
  fs::copy(t / "d", t / "e");
  fs::remove(file_of(t / "e", ".sst"));
  EXPECT_REFUSED(checked(t / "e"), code::internal, ".sst");
  fs::copy(t / "d", t / "f");
  fs::remove(t / "f/CURRENT");
  EXPECT_REFUSED(checked(t / "f"), code::internal, "CURRENT is missing");
  fs::copy(t / "d", t / "g");
  fs::remove(file_of(t / "g", "MANIFEST"));
  EXPECT_REFUSED(checked(t / "g"), code::internal, "damaged");
}

TEST(entries, are_named_by_the_table) {
  using namespace std::string_literals;
  EXPECT_EQ(name_of("k\0train\0a\0b"s).part("key")->size(), 3u)
      << "the last part contains the rest";
  EXPECT_EQ(*name_of("c\0train\0"s).part("cluster"), "train");
  for (auto const& key : {"c\0train"s, "c\0train\0x"s, "k\0train"s, "k"s, ""s, "formats"s, "q\0"s})
    EXPECT_EQ(name_of(key).kind, nullptr) << key;
  auto const name = name_of("format");
  ASSERT_NE(name.kind, nullptr);
  EXPECT_EQ(as_json(*name.kind, format_entry()), R"({"version":1,"written_by":"9.9","epoch":"7"})");
  EXPECT_EQ(as_json(*name.kind, "\xff\xff"), std::nullopt);
}

}  // namespace inspection_cases
}  // namespace muster::server::journal
