#include "tenon/base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tenon/base/test_folder.h"

namespace tenon {
namespace {
namespace fs = std::filesystem;

std::size_t count_entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(File, MapsAndReads) {
  TestFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "a", "hello").ok());
  const auto map = MappedFile::open(folder / "a");
  ASSERT_TRUE(map.ok());
  EXPECT_EQ((*map)->text(), "hello");
  EXPECT_EQ(*read_file(folder / "a"), "hello");
  EXPECT_EQ(read_file(folder / "a", 4).error().code, Code::invalid);
  ASSERT_TRUE(write_file_atomic(folder / "empty", "").ok());
  EXPECT_EQ((*MappedFile::open(folder / "empty"))->size(), 0u);
}

TEST(File, SaysWhatCannotBeOpened) {
  TestFolder folder;
  EXPECT_EQ(MappedFile::open(folder / "none").error().code, Code::not_found);
  EXPECT_EQ(MappedFile::open(folder.path()).error().code, Code::io);
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(MappedFile::open(folder / "fifo").ok());  // and does not block
  EXPECT_FALSE(read_file(folder / "fifo").ok());
  EXPECT_EQ(write_file_atomic(folder / "no/such", "x").error().code, Code::not_found);
}

TEST(File, AtomicFileAppearsOnCommitOnly) {
  TestFolder folder;
  {
    auto file = AtomicFile::create(folder / "a");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("half").ok());
    EXPECT_FALSE(fs::exists(folder / "a"));
  }
  EXPECT_EQ(count_entries(folder.path()), 0u);
  ASSERT_TRUE(write_file_atomic(folder / "a", "old").ok());
  ASSERT_TRUE(write_file_atomic(folder / "a", "new").ok());
  EXPECT_EQ(*read_file(folder / "a"), "new");
  EXPECT_EQ(count_entries(folder.path()), 1u);
}

TEST(File, AtomicDirectoryReplacesWhole) {
  TestFolder folder;
  for (const char* text : {"one", "two"}) {
    auto dir = AtomicDirectory::create(folder / "d/");
    ASSERT_TRUE(dir.ok()) << dir.error().text();
    fs::create_directory(dir->path() / "sub");
    ASSERT_TRUE(write_file_atomic(dir->path() / "sub/x", text).ok());
    ASSERT_TRUE(dir->commit().ok());
    EXPECT_EQ(*read_file(folder / "d/sub/x"), text);
  }
  {
    auto dropped = AtomicDirectory::create(folder / "e");
  }
  EXPECT_EQ(count_entries(folder.path()), 1u);
}

TEST(File, SafePathStaysBelowItsRoot) {
  TestFolder folder;
  fs::create_directory(folder / "root");
  fs::create_directory(folder / "out");
  fs::create_directory_symlink(folder / "out", folder / "root/leak");
  fs::create_directory_symlink("sub", folder / "root/inner");
  fs::create_directory(folder / "root/sub");
  const fs::path root = folder / "root";
  EXPECT_EQ(*safe_path(root, "a/b.bin"), root / "a/b.bin");
  EXPECT_TRUE(safe_path(root, "inner/x").ok());
  EXPECT_TRUE(safe_path(root, "..a/b..").ok());
  for (std::string_view bad :
       {"", "/etc/passwd", "../x", "a/../../x", "leak/x", "a\\b", "dir/", ".."})
    EXPECT_EQ(safe_path(root, bad).error().code, Code::invalid) << bad;
  EXPECT_FALSE(safe_path(root, std::string_view("a\0b", 3)).ok());
}

TEST(Sha256, KnownAnswers) {  // FIPS 180-4 examples
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace tenon
