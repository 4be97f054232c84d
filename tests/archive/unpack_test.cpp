#include "base/archive/unpack.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "tests/archive/trees.hpp"

namespace muster::test {
namespace {

/// Builds an archive with arbitrary entries.
class hostile {
 public:
  explicit hostile(bool zstd = false) {
    archive_write_set_format_gnutar(a_);
    zstd ? archive_write_add_filter_zstd(a_) : archive_write_add_filter_none(a_);
    archive_write_set_bytes_in_last_block(a_, 1);
    archive_write_open(a_, &bytes_, nullptr, take, nullptr);
  }
  hostile& file(std::string const& name, std::string const& text = "x", unsigned bits = 0644) {
    return add(
        name, AE_IFREG,
        [&](archive_entry* e) {
          archive_entry_set_size(e, static_cast<la_int64_t>(text.size()));
          archive_entry_set_perm(e, static_cast<mode_t>(bits));
        },
        text);
  }
  hostile& directory(std::string const& name, unsigned bits = 0755) {
    return add(name, AE_IFDIR,
               [&](archive_entry* e) { archive_entry_set_perm(e, static_cast<mode_t>(bits)); });
  }
  hostile& link(std::string const& name, std::string const& target) {
    return add(name, AE_IFLNK,
               [&](archive_entry* e) { archive_entry_set_symlink(e, target.c_str()); });
  }
  hostile& hard_link(std::string const& name, std::string const& target) {
    return add(name, AE_IFREG,
               [&](archive_entry* e) { archive_entry_set_hardlink(e, target.c_str()); });
  }
  hostile& add(std::string const& name, unsigned type,
               std::function<void(archive_entry*)> const& more, std::string const& text = {}) {
    std::unique_ptr<archive_entry, decltype(&archive_entry_free)> const e(archive_entry_new(),
                                                                          archive_entry_free);
    archive_entry_set_pathname(e.get(), name.c_str());
    archive_entry_set_filetype(e.get(), type);
    archive_entry_set_perm(e.get(), 0644);
    archive_entry_set_size(e.get(), 0);
    more(e.get());
    EXPECT_GE(archive_write_header(a_, e.get()), ARCHIVE_WARN) << archive_error_string(a_);
    if (!text.empty()) archive_write_data(a_, text.data(), text.size());
    return *this;
  }
  std::string bytes() {
    archive_write_free(a_);
    return bytes_;
  }

 private:
  static la_ssize_t take(archive*, void* to, void const* bytes, std::size_t n) {
    static_cast<std::string*>(to)->append(static_cast<char const*>(bytes), n);
    return static_cast<la_ssize_t>(n);
  }
  archive* a_ = archive_write_new();
  std::string bytes_;
};

struct unpacking : testing::Test {
  /// Returns why the archive is refused. Nothing may have been created outside of the directory.
  std::string refused(std::string const& archive, tree_limits const& limits = {}) {
    auto const said = error_of([&] { t.unpacked(archive, limits); });
    for (auto const& e : fs::directory_iterator(t.at.path())) {
      auto const name = e.path().filename().string();
      EXPECT_TRUE(name == "root" || name.starts_with("archive") || name.starts_with("out")) << name;
    }
    return said;
  }
  tree t;
};

TEST_F(unpacking, accepts_archives_of_other_programs) {
  auto const out = t.unpacked(hostile().directory("./").file("./a/b", "one").file("c").bytes());
  EXPECT_EQ(t.names_in(out), (names{"a", "a/b", "c"}));
  EXPECT_EQ(read_file(out / "a/b"), "one");
  EXPECT_EQ(t.about.entries, 3u);
  EXPECT_EQ(t.about.bytes, 4u);
  EXPECT_EQ(t.names_in(t.unpacked(hostile(true).file("z").bytes())), names{"z"});
  EXPECT_EQ(read_file(t.unpacked(hostile().file("a", "1").file("a", "2").bytes()) / "a"), "2");
}

TEST_F(unpacking, error_quotes_the_beginning_of_an_overlong_name) {
  auto const said = refused(hostile().file("dir/" + std::string(6'000, 'n')).bytes());
  EXPECT_TRUE(said.starts_with("'dir/nnn")) << said;
  EXPECT_NE(said.find("n…' of the archive has a name longer than 4096 bytes"), std::string::npos)
      << said;
  EXPECT_LT(said.size(), 300u);
}

TEST_F(unpacking, refuses_names_that_point_outside) {
  for (auto const* name : {"../out", "a/../../out", "/tmp/muster-hostile", "a/..", ".."})
    EXPECT_NE(refused(hostile().file(name).bytes()).find("points outside the directory"),
              std::string::npos)
        << name;
  EXPECT_FALSE(fs::exists("/tmp/muster-hostile"));
}

TEST_F(unpacking, refuses_links_that_point_outside) {
  for (auto const* target : {"/etc", "../..", "a/../../..", ".."})
    EXPECT_EQ(refused(hostile().link("l", target).bytes()),
              "'l' of the archive is a symbolic link that points outside the directory")
        << target;
  EXPECT_EQ(refused(hostile().directory("d").link("d/l", "..").bytes()), "");
  for (auto const* name : {"l/", "l//", "l/.", "./l/./", "d/../l"})  // all are created as "l"
    EXPECT_NE(refused(hostile().directory("d").link(name, "../secret").bytes()), "") << name;
  EXPECT_FALSE(fs::exists(fs::symlink_status(t.at / "secret")));
}

TEST_F(unpacking, writes_through_no_link) {
  EXPECT_NE(refused(hostile().directory("d").link("l", "d").file("l/x").bytes()), "");
  // Each name is valid; together they would lead outside.
  EXPECT_NE(refused(hostile()
                        .directory("a")
                        .directory("a/b")
                        .link("a/b/up", "../..")
                        .link("out", "a/b/up/..")
                        .file("out/x")
                        .bytes()),
            "");
  EXPECT_FALSE(fs::exists(t.at / "x"));
}

TEST_F(unpacking, file_replaces_a_link_and_keeps_its_target) {
  auto const out = t.unpacked(hostile().file("a", "1").link("l", "a").file("l", "2").bytes());
  EXPECT_EQ(read_file(out / "a"), "1");
  EXPECT_EQ(read_file(out / "l"), "2");
}

TEST_F(unpacking, refuses_hard_links) {
  t.at.write("root/secret", "s");
  for (auto const* target : {"/etc/passwd", "../root/secret", "a"})
    EXPECT_EQ(refused(hostile().file("a").hard_link("h", target).bytes()),
              "'h' of the archive is a hard link")
        << target;
}

TEST_F(unpacking, refuses_devices_and_pipes) {
  for (auto const type : {AE_IFCHR, AE_IFBLK, AE_IFIFO})
    EXPECT_EQ(refused(hostile()
                          .add("n", type, [](archive_entry* e) { archive_entry_set_rdev(e, 259); })
                          .bytes()),
              "'n' of the archive is not a file, directory or symbolic link");
}

TEST_F(unpacking, ignores_special_permissions) {
  auto const out = t.unpacked(hostile()
                                  .file("suid", "x", 06755)
                                  .file("open", "x", 0666)
                                  .file("shut", "x", 0000)
                                  .directory("sticky", 07777)
                                  .directory("no", 0000)
                                  .bytes());
  EXPECT_EQ(mode(out / "suid"), 0755u);
  EXPECT_EQ(mode(out / "open"), 0644u);
  EXPECT_EQ(mode(out / "shut"), 0644u);
  EXPECT_EQ(mode(out / "sticky"), 0755u);
  EXPECT_EQ(mode(out / "no"), 0755u);
}

TEST_F(unpacking, unpacked_bytes_are_limited) {
  tree_limits const limits{.bytes_max = 1'000'000};
  hostile one(true);
  one.file("bomb", std::string(4'000'000, '\0'));
  auto const archive = one.bytes();
  EXPECT_LT(archive.size(), 10'000u) << "it is an archive bomb";
  EXPECT_EQ(refused(archive, limits), "the archive unpacks to more than 1000000 bytes");
  hostile many;
  for (int i = 0; i < 3; ++i) many.file("f" + std::to_string(i), std::string(400'000, 'x'));
  EXPECT_EQ(refused(many.bytes(), limits), "the archive unpacks to more than 1000000 bytes");
  EXPECT_EQ(t.names_in(t.at / "out2"), (names{"f0", "f1"}));
}

TEST_F(unpacking, unpacked_entries_are_limited) {
  hostile many;
  for (int i = 0; i < 20; ++i) many.directory("d" + std::to_string(i));
  EXPECT_EQ(refused(many.bytes(), {.entries_max = 10}), "the archive has more than 10 entries");
}

TEST_F(unpacking, reports_data_that_is_not_an_archive) {
  EXPECT_NE(refused(std::string(2'000, 'x')), "");
  EXPECT_NE(refused("PK\3\4 a zip is none"), "");
  auto const whole = hostile().file("a", std::string(5'000, 'a')).bytes();
  EXPECT_NE(refused(whole.substr(0, 2'000)), "") << "cut off";
  EXPECT_NE(error_of([&] { unpack(t.at / "none", t.root); }), "");
}

}  // namespace
}  // namespace muster::test
