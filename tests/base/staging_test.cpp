#include "base/staging.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/hash.h"
#include "base/mapped_file.h"

namespace tercet {
namespace {

namespace fs = std::filesystem;

class Staging : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() / "tercet-staging-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

TEST_F(Staging, AFileAppearsWholeOrNotAtAll) {
  const std::string path = folder_ + "/a";
  {
    DurableFile file(path);
    file.write("half");
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  write_durably(path, "whole");
  write_durably(path, "another");
  EXPECT_EQ(read(path), "another");
  EXPECT_THROW(write_durably(folder_ + "/missing/a", ""), Error);
}

TEST_F(Staging, AFolderIsPutInPlaceByCommit) {
  const std::string target = folder_ + "/new/model";
  StagedFolder staged(target + "/", false, false);
  write_durably(staged.path() + "/a", "1");
  EXPECT_FALSE(fs::exists(target));
  staged.commit();
  EXPECT_EQ(read(target + "/a"), "1");
  EXPECT_FALSE(fs::exists(staged.path()));

  try {
    StagedFolder again(target, false, false);
    FAIL() << "an existing output was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  }
  StagedFolder other(target, false, true);
  write_durably(other.path() + "/b", "2");
  EXPECT_EQ(read(target + "/a"), "1");
  other.commit();
  EXPECT_FALSE(fs::exists(target + "/a"));
  EXPECT_EQ(read(target + "/b"), "2");
  EXPECT_FALSE(fs::exists(other.path()));
}

TEST_F(Staging, WhatWasStagedIsKeptOnlyToResume) {
  const std::string target = folder_ + "/model";
  write_durably(StagedFolder(target, false, false).path() + "/a", "1");
  EXPECT_TRUE(fs::exists(StagedFolder(target, true, false).path() + "/a"));
  EXPECT_FALSE(fs::exists(StagedFolder(target, false, false).path() + "/a"));
}

TEST_F(Staging, HashesAreSha256) {
  const std::string empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(sha256({}), empty);
  EXPECT_EQ(sha256(std::as_bytes(std::span("abc", 3))), abc);
  write_durably(folder_ + "/abc", "abc");
  EXPECT_EQ(sha256_of_file(folder_ + "/abc"), abc);
  const std::string large(3'000'001, 'x');
  write_durably(folder_ + "/large", large);
  EXPECT_EQ(sha256_of_file(folder_ + "/large"), sha256(std::as_bytes(std::span(large))));
  EXPECT_THROW(sha256_of_file(folder_ + "/missing"), Error);
}

TEST_F(Staging, MappedFilesAreTheirBytes) {
  write_durably(folder_ + "/a", "content");
  write_durably(folder_ + "/empty", "");
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
