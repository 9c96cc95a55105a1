// A store in a folder of its own, for tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "store/store.h"
#include "store/test_batches.h"

namespace clrscope::store {

using std::chrono::nanoseconds;
using Outcome = Stored::Outcome;

inline constexpr std::int64_t kBegin = 1'800'000'000'000'000'000;
inline const WallTime kNow{nanoseconds{kBegin} + std::chrono::minutes{1}};

class SqliteStoreTest : public testing::Test {
 protected:
  SqliteStoreTest() {
    std::string name = testing::TempDir() + "store.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~SqliteStoreTest() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  Store& open(Retention retention = {}) {
    store_.reset();
    auto opened = open_store(where(), retention);
    EXPECT_TRUE(opened) << opened.error().what;
    store_ = std::move(*opened);
    return *store_;
  }
  Outcome add(const TestBatch& batch, WallTime now = kNow) {
    const auto done = store_->add(std::vector{make_batch(batch)}, now);
    EXPECT_TRUE(done) << done.error().what;
    return done->front().outcome;
  }
  std::string file() const { return folder_ + "/fleet.db"; }
  std::string where() const { return "sqlite:" + file(); }

  std::string folder_;
  std::unique_ptr<Store> store_;
};

}  // namespace clrscope::store
