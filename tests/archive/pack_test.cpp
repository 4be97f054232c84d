#include "base/archive/pack.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/archive/copy_tree.hpp"
#include "base/archive/unpack.hpp"
#include "tests/archive/trees.hpp"

namespace muster::test {
namespace {

TEST(pack, packed_tree_is_unpacked_unchanged) {
  tree t;
  t.write("train.py", "print(1)\n");
  t.write("lib/deep/er.py", "x");
  t.write("bin/run", "#!/bin/sh\n", 0755);
  t.write("n\303\244me", "umlaut");
  t.write(std::string(120, 'l') + "/" + std::string(150, 'n'), "long");
  fs::create_directories(t.root / "empty");
  fs::create_symlink("../lib/deep", t.root / "bin/link");
  auto const made = pack(t.root);
  EXPECT_EQ(made.files, 5u);
  EXPECT_EQ(made.file_bytes, 9u + 1 + 10 + 6 + 4);
  auto const out = t.unpacked(made.bytes);
  EXPECT_EQ(t.names_in(out), t.names_in(t.root));
  EXPECT_EQ(read_file(out / "train.py"), "print(1)\n");
  EXPECT_EQ(read_file(out / "bin/link/er.py"), "x");
  EXPECT_EQ(read_file(out / "n\303\244me"), "umlaut");
  EXPECT_EQ(mode(out / "bin/run"), 0755u);
  EXPECT_EQ(mode(out / "train.py"), 0644u);
}

TEST(pack, probable_secrets_are_listed) {
  tree t;
  t.write("tls/ca.key", "k", 0600);
  t.write("admin.token", "t", 0600);
  t.write("vocabulary.token", "t", 0644);
  t.write("train.py", "p", 0600);
  EXPECT_EQ(pack(t.root).secrets, (std::vector<std::string>{"admin.token", "tls/ca.key"}));
  t.write(".musterignore", "*.token\ntls\n");
  EXPECT_TRUE(pack(t.root).secrets.empty());
}

TEST(pack, bytes_do_not_depend_on_owner_and_time) {
  tree a, b;
  for (auto const* name : {"b", "a/x", "a-b", "a/y"}) a.write(name, name);
  for (auto const* name : {"a/y", "a-b", "a/x", "b"}) b.write(name, name, 0600);
  fs::last_write_time(b.root / "b", fs::file_time_type::clock::now() - std::chrono::hours(9));
  EXPECT_EQ(pack(a.root).bytes, pack(b.root).bytes);
  b.write("b", "other");
  EXPECT_NE(pack(a.root).bytes, pack(b.root).bytes);
}

TEST(pack, both_kinds_of_ignore_files_apply) {
  tree t;
  t.write(".gitignore", "*.log\n");
  t.write("a.log", "");
  t.write("a.py", "");
  t.write("sub/.gitignore", "/local\n");
  t.write("sub/local", "");
  t.write("local", "");
  t.write(".git/HEAD", "");
  EXPECT_EQ(t.names_in(t.unpacked(pack(t.root).bytes)),
            (names{".gitignore", "a.py", "local", "sub", "sub/.gitignore"}));
  t.write(".musterignore", "*.py\nsub/\n");
  EXPECT_EQ(t.names_in(t.unpacked(pack(t.root).bytes)),
            (names{".gitignore", ".musterignore", "a.log", "local"}))
      << "then .gitignore is not used";
}

TEST(pack, too_large_archive_names_the_largest_files) {
  tree t;
  t.write("small", "x");
  t.write("data/big", std::string(300'000, 'b'));
  t.write("large", std::string(200'000, 'l'));
  EXPECT_EQ(
      error_of([&] { pack(t.root, {.bytes_max = 400'000}); }),
      "488.2 KiB of files exceeds the limit of 390.6 KiB; list files to exclude in .musterignore. "
      "The largest files:\n  292.9 KiB  data/big\n  195.3 KiB  large\n  0.0 KiB  small");
  t.write("large", std::string(3 << 20, 'l'));
  EXPECT_NE(error_of([&] { pack(t.root, {.bytes_max = 2 << 20}); }).find("\n  3.0 MiB  large\n"),
            std::string::npos);
  t.write("large", std::string(200'000, 'l'));
  t.write(".musterignore", "data\n");
  EXPECT_EQ(pack(t.root, {.bytes_max = 400'000}).files, 3u);
  EXPECT_NE(error_of([&] { pack(t.root, {.entries_max = 2}); }).find("more than 2"),
            std::string::npos);
}

TEST(pack, links_must_point_inside_the_tree) {
  tree t;
  t.write("x/file", "");
  for (auto const* out : {"/etc/passwd", "../../outside", "../x/../../y"}) {
    fs::remove(t.root / "x/link");
    fs::create_symlink(out, t.root / "x/link");
    auto const said = error_of([&] { pack(t.root); });
    EXPECT_NE(said.find("'x/link' is a symbolic link to '" + std::string(out) +
                        "', which is outside the directory"),
              std::string::npos)
        << said;
  }
  // Leads outside through a link that is valid by itself.
  fs::remove(t.root / "x/link");
  fs::create_directories(t.root / "deep/down");
  fs::create_symlink("../..", t.root / "deep/down/up");
  EXPECT_EQ(error_of([&] { pack(t.root); }), "");
  fs::create_symlink("deep/down/up/..", t.root / "out");
  EXPECT_NE(error_of([&] { pack(t.root); }), "");
  t.write(".musterignore", "/out\n");
  EXPECT_EQ(error_of([&] { pack(t.root); }), "");
}

TEST(pack, special_files_are_skipped_and_a_non_directory_is_an_error) {
  tree t;
  t.write("file", "");
  ASSERT_EQ(::mkfifo((t.root / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(t.names_in(t.unpacked(pack(t.root).bytes)), names{"file"});
  EXPECT_NE(error_of([&] { pack(t.root / "file"); }).find("is not a directory"), std::string::npos);
  EXPECT_NE(error_of([&] { pack(t.root / "none"); }).find("is not a directory"), std::string::npos);
}

TEST(pack, progress_is_reported) {
  tree t;
  for (int i = 0; i < 5; ++i) t.write("f" + std::to_string(i), "12");
  packed_tree last;
  pack(t.root, {}, [&](packed_tree const& now) { last.files = now.files; });
  EXPECT_EQ(last.files, 5u);
}

TEST(copy_tree, changing_a_copy_does_not_affect_the_original) {
  tree t;
  t.write("a/file", "one");
  t.write("run", "x", 0755);
  fs::create_symlink("a/file", t.root / "link");
  fs::create_directory_symlink("a", t.root / "dir");
  auto const copy = t.at / "copy/of/it";
  copy_tree(t.root, copy);
  EXPECT_EQ(t.names_in(copy), t.names_in(t.root));
  EXPECT_EQ(mode(copy / "run"), 0755u);
  EXPECT_TRUE(fs::is_symlink(copy / "dir"));
  std::ofstream(copy / "a/file") << "two";
  std::ofstream(copy / "link", std::ios::app) << "three";
  EXPECT_EQ(read_file(t.root / "a/file"), "one");
  EXPECT_EQ(read_file(copy / "a/file"), "twothree");
}

// The directory's owner could replace an entry by a link, through which root would then write.
TEST(copy_tree, ownership_changes_only_after_the_copy_is_complete) {
  tree t;
  t.write("a/file", "one");
  auto const copy = t.at / "copy";
  fs::create_directories(copy);
  std::ofstream(copy / "a") << "not a directory";  // makes the copy fail
  std::pair<uid_t, gid_t> const nobody{65'534, 65'534};
  EXPECT_ANY_THROW(copy_tree(t.root, copy, nobody));
  struct stat about {};
  ASSERT_EQ(::stat(copy.c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, ::geteuid());
  EXPECT_EQ(about.st_mode & 0777, 0700u);
}

}  // namespace
}  // namespace muster::test
