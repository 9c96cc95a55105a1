#include "archive/request_runs.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace clrscope::archive {
namespace {

// A pid that nobody has: its process is gone.
pid_t ended_pid() {
  const auto child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

class RequestRunsTest : public testing::Test {
 protected:
  ~RequestRunsTest() override { std::filesystem::remove_all(settings_.folder); }

  static std::string new_folder() {
    char name[] = "/tmp/clrscope-runs-XXXXXX";
    return ::mkdtemp(name);
  }

  ArchiveSettings settings_{.folder = new_folder()};
  Operations operations_;
  Recordings recordings_{settings_};
};

Process process(pid_t pid) { return {.pid = pid, .name = "shop", .user = {}}; }

ops::ProfileRequest request(pid_t pid) {
  ops::ProfileRequest out{.include = {"Shop"}};
  out.listen = {.target = {.pid = pid}, .duration = std::chrono::seconds{600}};
  return out;
}

RequestRun run(const std::string& id, RunState state, std::size_t spans) {
  auto profile = std::make_shared<ops::RequestProfile>();
  profile->requests.emplace_back().spans.resize(spans);
  return {.id = id, .state = state, .profile = std::move(profile)};
}

using Ids = std::vector<std::string>;

TEST_F(RequestRunsTest, ThatFailSayWhyAndAreOperations) {
  RequestRuns all{operations_, recordings_, settings_};
  const auto pid = ended_pid();
  const auto begun = all.start(request(pid), process(pid), "ann");
  ASSERT_TRUE(begun);
  EXPECT_TRUE(begun->is_new);
  const auto ended = all.wait(begun->run.id, [] { return false; });
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->state, RunState::kFailed);
  EXPECT_FALSE(answer_of(*ended).error.empty());
  EXPECT_EQ(answer_of(*ended).by, "ann");
  EXPECT_FALSE(answer_of(*ended).running);
  EXPECT_TRUE(operations_.find(begun->run.id));
  EXPECT_TRUE(all.remove(begun->run.id));
  EXPECT_EQ(all.find(begun->run.id).error().code, Errc::kNotFound);
  EXPECT_EQ(all.stop(begun->run.id).error().code, Errc::kNotFound);
}

TEST_F(RequestRunsTest, AreForgottenWhenThereAreMany) {
  RequestRuns all{operations_, recordings_, settings_, {.kept = 3}};
  std::string last;
  for (int i = 0; i < 10; ++i) {
    const auto pid = ended_pid();
    const auto begun = all.start(request(pid), process(pid), "");
    ASSERT_TRUE(begun);
    last = begun->run.id;
    ASSERT_TRUE(all.wait(last, [] { return false; }));
    EXPECT_LE(all.list().size(), 3U);
  }
  ASSERT_EQ(all.list().size(), 3U);
  EXPECT_EQ(all.list().front().id, last);
}

TEST_F(RequestRunsTest, AreRefusedBeyondTheLimitOfThoseThatRun) {
  RequestRuns all{operations_, recordings_, settings_, {.running = 0}};
  const auto refused = all.start(request(1), process(1), "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kBusy);
  EXPECT_TRUE(all.list().empty());
}

TEST_F(RequestRunsTest, AreFoundAgainAfterARestart) {
  const auto pid = ended_pid();
  std::string id;
  {
    RequestRuns all{operations_, recordings_, settings_};
    const auto begun = all.start(request(pid), process(pid), "ann");
    ASSERT_TRUE(begun);
    id = begun->run.id;
    ASSERT_TRUE(all.wait(id, [] { return false; }));
  }
  RequestRuns again{operations_, recordings_, settings_};
  const auto found = again.find(id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, RunState::kFailed);
  EXPECT_EQ(found->by, "ann");
  EXPECT_EQ(found->include, std::vector<std::string>{"Shop"});
  EXPECT_EQ(found->planned, std::chrono::seconds{600});
  EXPECT_FALSE(answer_of(*found).error.empty());
  EXPECT_FALSE(found->has_profile());
  EXPECT_TRUE(again.remove(id));
  EXPECT_TRUE(RequestRuns(operations_, recordings_, settings_).list().empty());
}

// What a server that was killed leaves: a run that goes on by its file.
RequestRun left_running(const ArchiveSettings& settings, bool with_data) {
  RequestRun run{.id = with_data ? "with" : "without",
                 .state = RunState::kRunning,
                 .started = WallTime{std::chrono::seconds{1'700'000'000}},
                 .process = process(ended_pid())};
  if (with_data) {
    auto profile = std::make_shared<ops::RequestProfile>();
    profile->seen = run.seen = 7;
    run.profile = std::move(profile);
  }
  EXPECT_TRUE(RunFiles{settings}.save(run));
  return run;
}

TEST_F(RequestRunsTest, ThatRanWhenTheServerWasKilledAreCutAndHaveTheirDataSoFar) {
  const auto left = left_running(settings_, true);
  RequestRuns all{operations_, recordings_, settings_};
  const auto found = all.find(left.id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, RunState::kFinished);
  EXPECT_EQ(found->ending, RunEnding::kServerStopped);
  EXPECT_EQ(found->seen, 7U);
  EXPECT_EQ(found->started, left.started);
  EXPECT_EQ(all.profile_json(*found).value_or(""), json_text(*left.profile));
  EXPECT_EQ(all.profile_text(*found).value_or(""), text_of(*left.profile));
  EXPECT_TRUE(all.stop(left.id));  // it has ended: nothing happens
}

TEST_F(RequestRunsTest, ThatRanWithoutDataWhenTheServerWasKilledHaveFailed) {
  const auto left = left_running(settings_, false);
  RequestRuns all{operations_, recordings_, settings_};
  const auto found = all.find(left.id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, RunState::kFailed);
  EXPECT_EQ(found->ending, RunEnding::kServerStopped);
  EXPECT_FALSE(found->has_profile());
}

TEST(RequestRuns, OfWhichManyAreKeptGiveUpTheOldestThatHaveEnded) {
  const std::vector<RequestRun> all{run("e", RunState::kFinished, 1),
                                    run("d", RunState::kRunning, 1), run("c", RunState::kFailed, 1),
                                    run("b", RunState::kStarting, 1),
                                    run("a", RunState::kFinished, 1)};
  EXPECT_EQ(surplus(all, {.kept = 5}), Ids{});
  EXPECT_EQ(surplus(all, {.kept = 4}), Ids{"a"});
  EXPECT_EQ(surplus(all, {.kept = 2}), (Ids{"e", "c", "a"}));
}

TEST(RequestRuns, WithManySpansAreForgottenFirstButNotTheNewest) {
  const std::vector<RequestRun> all{run("c", RunState::kFinished, 60),
                                    run("b", RunState::kFinished, 50),
                                    run("a", RunState::kFinished, 10)};
  EXPECT_EQ(surplus(all, {.spans = 1000}), Ids{});
  EXPECT_EQ(surplus(all, {.spans = 70}), Ids{"b"});
  EXPECT_EQ(surplus(all, {.spans = 20}), (Ids{"b", "a"}));
}

TEST(RequestRuns, WithLargeFilesAreForgottenFirstButNotTheNewest) {
  std::vector<RequestRun> all{run("d", RunState::kRunning, 1), run("c", RunState::kFinished, 1),
                              run("b", RunState::kFinished, 1), run("a", RunState::kFinished, 1)};
  all[0].bytes = 40;
  all[1].bytes = 60;
  all[2].bytes = 50;
  all[3].bytes = 10;
  EXPECT_EQ(surplus(all, {.bytes = 160}), Ids{});
  EXPECT_EQ(surplus(all, {.bytes = 110}), Ids{"b"});
  EXPECT_EQ(surplus(all, {.bytes = 50}), (Ids{"b", "a"}));
}

// What an earlier server kept: a profile with so many requests, begun so many seconds after
// another.
RequestRun left_ended(const ArchiveSettings& settings, int number, std::size_t requests) {
  auto profile = std::make_shared<ops::RequestProfile>();
  profile->requests.resize(requests);
  RequestRun run{.id = "ended" + std::to_string(number),
                 .state = RunState::kFinished,
                 .started = WallTime{std::chrono::seconds{1'700'000'000 + number}},
                 .process = process(4242),
                 .profile = std::move(profile)};
  EXPECT_TRUE(RunFiles{settings}.save(run));
  return run;
}

std::uint64_t bytes_in(const std::string& folder) {
  std::uint64_t sum = 0;
  for (const auto& one : std::filesystem::directory_iterator{folder}) sum += one.file_size();
  return sum;
}

TEST_F(RequestRunsTest, CountInTheDiskLimitAndTakeAQuarterOfIt) {
  for (int i = 0; i < 8; ++i) left_ended(settings_, i, 100);
  const auto all_bytes = bytes_in(settings_.folder + "/requests");
  settings_.disk_limit = all_bytes * 2;
  const auto room = recordings_.room();
  RequestRuns all{operations_, recordings_, settings_};
  ASSERT_EQ(all.list().size(), 4U);
  EXPECT_EQ(all.list().front().id, "ended7");
  EXPECT_EQ(all.bytes(), bytes_in(settings_.folder + "/requests"));
  EXPECT_EQ(recordings_.room() + all.bytes(), room);
  ASSERT_TRUE(all.remove("ended7"));
  EXPECT_EQ(all.bytes(), bytes_in(settings_.folder + "/requests"));
  EXPECT_EQ(recordings_.room() + all.bytes(), room);
}

TEST_F(RequestRunsTest, TooLargeForTheDiskLimitAreStoredWithoutSingleRequests) {
  const auto whole = RunFiles{settings_}.contents_of(left_ended(settings_, 0, 100));
  settings_.disk_limit = whole.profile.size() * 32 - 1;
  const auto less = RunFiles{settings_}.contents_of(left_ended(settings_, 0, 100));
  EXPECT_LT(less.profile.size() * 10, whole.profile.size());
  EXPECT_FALSE(less.profile.empty());
}

}  // namespace
}  // namespace clrscope::archive
