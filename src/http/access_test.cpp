#include "http/access.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace clrscope::http {
namespace {

class AccessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = (std::filesystem::temp_directory_path() / "accessXXXXXX").string();
    ASSERT_TRUE(::mkdtemp(folder.data()));
    folder_ = folder;
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
    keys_.emplace(folder_);
    access_.emplace(setting_, *keys_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static net::HttpRequest head(std::vector<net::HttpField> fields = {},
                               const std::string& method = "GET") {
    return {.method = method, .fields = std::move(fields), .peer = {.address = "10.0.0.9:5"}};
  }
  int status(const net::HttpRequest& request) {
    const auto who = access_->identify(request);
    const auto* refusal = std::get_if<net::HttpResponse>(&who);
    return refusal ? refusal->status : 200;
  }
  Keys::Made make(ScopeSet scopes) {
    auto made = keys_->create("someone", scopes, {}, wall_now());
    EXPECT_TRUE(made);
    EXPECT_TRUE(keys_->refresh(wall_now()));
    return *made;
  }
  static net::HttpField bearer(const std::string& word) {
    return {"Authorization", "Bearer " + word};
  }
  // "name=value" of a Set-Cookie.
  static net::HttpField cookie(const std::string& set) {
    return {"Cookie", "other=1; " + set.substr(0, set.find(';'))};
  }

  std::string folder_;
  ServeSetting setting_;
  std::optional<Keys> keys_;
  std::optional<Access> access_;
};

TEST_F(AccessTest, NobodyIsLetInWithoutAKey) {
  EXPECT_EQ(status(head()), 401);
  EXPECT_EQ(status(head({bearer("csk_nothing")})), 401);
  EXPECT_EQ(status(head({{"Authorization", "Basic abc"}})), 401);
  EXPECT_EQ(status(head({{"Authorization", "Bearer"}})), 401);
  EXPECT_EQ(status(head({{"Cookie", "clrscope=guess"}})), 401);
}

TEST_F(AccessTest, WrongRevokedAndExpiredKeysAreToldApartByNobody) {
  const auto gone = make(ScopeSet::all());
  ASSERT_TRUE(keys_->revoke(gone.key.id));
  const auto old =
      keys_->create("old", ScopeSet::all(), wall_now() - std::chrono::seconds{1}, wall_now());
  ASSERT_TRUE(keys_->refresh(wall_now()));
  std::vector<std::string> bodies;
  for (const auto& word : {std::string{"csk_wrong"}, gone.word, old->word, std::string{"x"}}) {
    const auto who = access_->identify(head({bearer(word)}));
    const auto* refusal = std::get_if<net::HttpResponse>(&who);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->status, 401);
    bodies.push_back(refusal->body);
  }
  for (const auto& body : bodies) EXPECT_EQ(body, bodies.front());
}

TEST_F(AccessTest, ManyWrongKeysOfAnAddressAreSlowedAndAGoodOneStillPasses) {
  const auto made = make(ScopeSet::all());
  for (std::size_t i = 0; i < site::Failures::kMost; ++i)
    EXPECT_EQ(status(head({bearer("csk_guess")})), 401);
  EXPECT_EQ(status(head({bearer("csk_guess")})), 429);
  EXPECT_EQ(status(head({bearer(made.word)})), 200);
  auto other = head({bearer("csk_guess")});
  other.peer.address = "10.0.0.10:5";
  EXPECT_EQ(status(other), 401);
}

TEST_F(AccessTest, AOneTimeWordWorksOnce) {
  const auto word = access_->visits().new_one_time_word();
  EXPECT_FALSE(access_->visits().redeem("wrong", head(), "/"));
  const auto set = access_->visits().redeem(word, head(), "/base/");
  ASSERT_TRUE(set);
  EXPECT_NE(set->find("; Path=/base/; HttpOnly; SameSite=Strict; Max-Age=43200"),
            std::string::npos);
  EXPECT_EQ(set->find("Secure"), std::string::npos);
  EXPECT_FALSE(access_->visits().redeem(word, head(), "/"));
  EXPECT_EQ(status(head({cookie(*set)})), 200);
}

TEST_F(AccessTest, ACookieIsForTlsOnlyWhereThereIsTls) {
  auto request = head();
  request.peer.tls = true;
  const auto set = access_->visits().redeem(access_->visits().new_one_time_word(), request, "/");
  ASSERT_TRUE(set);
  EXPECT_TRUE(set->ends_with("; Secure"));
}

TEST_F(AccessTest, ACookieChangesSomethingOnlyFromOwnPages) {
  const auto set = access_->visits().redeem(access_->visits().new_one_time_word(), head(), "/");
  const auto with = [&](std::vector<net::HttpField> fields) {
    fields.push_back(cookie(*set));
    fields.push_back({"Host", "127.0.0.1:52323"});
    return status(head(std::move(fields), "POST"));
  };
  EXPECT_EQ(with({}), 403);
  EXPECT_EQ(with({{"Origin", "http://evil.example"}}), 403);
  EXPECT_EQ(with({{"Origin", "null"}}), 403);
  EXPECT_EQ(with({{"Origin", "http://127.0.0.1:9"}}), 403);
  EXPECT_EQ(with({{"Origin", "http://127.0.0.1:52323"}}), 200);
  EXPECT_EQ(with({{"Sec-Fetch-Site", "same-origin"}}), 200);
  EXPECT_EQ(with({{"Sec-Fetch-Site", "same-site"}}), 403);
  EXPECT_EQ(with({{"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://127.0.0.1:52323"}}), 403);
}

TEST_F(AccessTest, AVisitEndsWithItsKeyAndWithSigningOut) {
  const auto made = make(ScopeSet{}.add(Scope::kRead));
  EXPECT_FALSE(access_->visits().sign_in("csk_wrong", head(), "/"));
  const auto one = access_->visits().sign_in(made.word, head(), "/");
  const auto two = access_->visits().sign_in(" " + made.word + "\n", head(), "/");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(status(head({cookie(*one)})), 200);
  const auto removal = access_->visits().sign_out(head({cookie(*one)}), "/");
  EXPECT_NE(removal.find("Max-Age=0"), std::string::npos);
  EXPECT_EQ(status(head({cookie(*one)})), 401);
  EXPECT_EQ(status(head({cookie(*two)})), 200);
  ASSERT_TRUE(keys_->revoke(made.key.id));
  ASSERT_TRUE(keys_->refresh(wall_now()));
  EXPECT_EQ(status(head({cookie(*two)})), 401);
}

TEST_F(AccessTest, PagesOfLoopbackHaveANameOfTheirOwn) {
  setting_.hosts = {"box.example", "127.0.0.2"};
  const auto place = [&](const std::string& host) {
    return access_->visits().safer_place(head({{"Host", host}})).value_or("");
  };
  const auto& own = access_->visits().own_name();
  EXPECT_EQ(own.size(), std::string{"clrscope-0123456789abcdef.localhost"}.size());
  EXPECT_EQ(place("127.0.0.1:52323"), "http://" + own + ":52323");
  EXPECT_EQ(place("[::1]:9"), "http://" + own + ":9");
  EXPECT_EQ(place("[::1]"), "http://" + own);
  EXPECT_EQ(place("localhost"), "http://" + own);
  EXPECT_EQ(place("clrscope-old.localhost:7"), "http://" + own + ":7");
  for (const auto& here :
       {own + ":7", own, std::string{"BOX.example:80"}, std::string{"127.0.0.2:1"}})
    EXPECT_EQ(place(here), "") << here;
  EXPECT_NE(place("127.0.0.23:1"), "");
  auto tls = head({{"Host", "127.0.0.1"}});
  tls.peer.tls = true;
  EXPECT_FALSE(access_->visits().safer_place(tls));
  auto admitted = head({{"Host", "127.0.0.1"}});
  admitted.peer.uid = ::geteuid();
  EXPECT_FALSE(access_->visits().safer_place(admitted));
  Access other{setting_, *keys_};
  EXPECT_NE(other.visits().own_name(), own);
}

TEST_F(AccessTest, AWordMadeForAKeyHasItsScopesAndEndsWithIt) {
  const auto made = make(ScopeSet{}.add(Scope::kRead));
  EXPECT_FALSE(access_->visits().one_time_word_for("csk_wrong"));
  const auto word = access_->visits().one_time_word_for(made.word);
  ASSERT_TRUE(word);
  EXPECT_TRUE(access_->visits().is_good_word(*word));
  EXPECT_FALSE(access_->visits().is_good_word("guess"));
  const auto set = access_->visits().redeem(*word, head(), "/");
  ASSERT_TRUE(set);
  EXPECT_FALSE(access_->visits().is_good_word(*word));
  const auto who = access_->identify(head({cookie(*set)}));
  ASSERT_TRUE(std::holds_alternative<Caller>(who));
  EXPECT_EQ(std::get<Caller>(who).scopes, ScopeSet{}.add(Scope::kRead));
  ASSERT_TRUE(keys_->revoke(made.key.id));
  ASSERT_TRUE(keys_->refresh(wall_now()));
  EXPECT_EQ(status(head({cookie(*set)})), 401);
}

TEST_F(AccessTest, VisitsAreBounded) {
  for (int i = 0; i < 1100; ++i)
    ASSERT_TRUE(access_->visits().redeem(access_->visits().new_one_time_word(), head(), "/"));
  EXPECT_EQ(access_->visits().count(), 1000U);
}

TEST_F(AccessTest, ReadOnlyTakesAwayWhatChangesAndWhatHoldsSecrets) {
  const auto made = make(ScopeSet::all());
  setting_.read_only = true;
  const auto who = access_->identify(head({bearer(made.word)}));
  const auto* caller = std::get_if<Caller>(&who);
  ASSERT_TRUE(caller);
  EXPECT_TRUE(caller->scopes.has(Scope::kRead));
  for (const auto scope : {Scope::kTrace, Scope::kMemory, Scope::kAdmin})
    EXPECT_FALSE(caller->scopes.has(scope));
}

TEST_F(AccessTest, AUnixSocketIsForItsOwnerAndRoot) {
  auto request = head();
  request.peer = {.address = "unix", .uid = ::geteuid()};
  EXPECT_EQ(status(request), 200);
  request.peer.uid = 54321;
  EXPECT_EQ(status(request), 403);
}

TEST_F(AccessTest, AnAppThatForwardsSpeaksForItsCallers) {
  auto request = head({{"X-Clrscope-User", "anna%20b"}});
  request.peer = {.address = "unix", .uid = ::geteuid()};
  auto who = access_->identify(request);
  ASSERT_TRUE(std::holds_alternative<Caller>(who));
  EXPECT_EQ(std::get<Caller>(who).name, "anna b (by the app)");
  // One that the app has not looked at needs a key, as on TCP.
  request.fields.push_back({"X-Clrscope-Caller", "unknown"});
  EXPECT_EQ(status(request), 401);
  request.fields.push_back(bearer(make(ScopeSet::all()).word));
  EXPECT_EQ(status(request), 200);
}

TEST_F(AccessTest, OverTcpNobodySpeaksForOthers) {
  EXPECT_EQ(status(head({{"X-Clrscope-User", "root"}, {"X-Clrscope-Caller", "app"}})), 401);
}

}  // namespace
}  // namespace clrscope::http
