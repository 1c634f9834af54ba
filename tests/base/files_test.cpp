#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/sha256.h"

namespace tercet {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() / "tercet-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void write(const std::string& path, std::string_view content) {
    DurableFile file(path);
    file.write(content);
    file.commit();
  }

  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

TEST_F(Files, HashesAreSha256) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2, B.1
  const std::string path = folder_ + "/long";
  write(path, std::string(3'000'000, 'x'));  // more than a piece; by Python's hashlib
  EXPECT_EQ(sha256_of_file(path), "e55b8bdf621ddaa8f462c74745db9680d3bb7536a9cf854f8d6668b34a287890");
  EXPECT_THROW(sha256_of_file(folder_ + "/none"), Error);
}

TEST_F(Files, ADurableFileAppearsWholeOrNotAtAll) {
  const std::string path = folder_ + "/a";
  {
    DurableFile file(path);
    file.write("half");
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  write(path, "whole");
  write(path, "another");
  EXPECT_EQ(read(path), "another");
  EXPECT_FALSE(fs::exists(path + ".tmp"));
}

TEST_F(Files, ADurableFileThatCannotBeWrittenIsAnIoError) {
  try {
    DurableFile(folder_ + "/missing/a");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
    EXPECT_EQ(error.context().file, folder_ + "/missing/a");
  }
}

TEST_F(Files, MappedFilesAreTheirBytes) {
  write(folder_ + "/a", "content");
  write(folder_ + "/empty", "");
  MappedFile file(folder_ + "/a");
  const std::byte* data = file.data();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(data), 7), "content");
  file.drop_pages();
  const MappedFile moved = std::move(file);
  EXPECT_EQ(moved.data(), data);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(data), 7), "content");
  EXPECT_EQ(moved.size(), 7);
  EXPECT_EQ(MappedFile(folder_ + "/empty").size(), 0);
  EXPECT_THROW(MappedFile(folder_ + "/missing"), Error);
  EXPECT_THROW(MappedFile{folder_}, Error);
}

}  // namespace
}  // namespace tercet
