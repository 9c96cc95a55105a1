// Method patterns, the probes themselves, and the whole way from an order to new code and back,
// with a runtime of a few functions.
#include "agent/rejit.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "il/verify.h"

namespace clrscope::agent {
namespace {

bool chooses(const std::string& patterns, const std::string& name) {
  MethodFilter filter;
  EXPECT_TRUE(filter.parse(patterns.data(), static_cast<std::uint32_t>(patterns.size())));
  return filter.chooses(name.data(), static_cast<std::uint32_t>(name.size()));
}

TEST(MethodFilter, TakesNamespacesTypesMethodsAndStars) {
  EXPECT_TRUE(chooses("+Shop", "Shop.Orders.Save"));
  EXPECT_TRUE(chooses("+Shop.Orders", "Shop.Orders.Save"));
  EXPECT_TRUE(chooses("+Shop.Orders", "Shop.Orders+Cache.Get"));
  EXPECT_TRUE(chooses("+Shop.Orders.Save", "Shop.Orders.Save"));
  EXPECT_TRUE(chooses("+*.Save*", "Shop.Orders.SaveAll"));
  EXPECT_TRUE(chooses("+Shop*Get", "Shop.Orders+Cache.Get"));
  EXPECT_FALSE(chooses("+Shop", "Shopping.Cart.Add"));
  EXPECT_FALSE(chooses("+Shop.Orders.Save", "Shop.Orders.SaveAll"));
  EXPECT_FALSE(chooses("+Shop.*", "Store.Orders.Save"));
}

TEST(MethodFilter, LeavesOutWhatIsExcluded) {
  EXPECT_FALSE(chooses("+Shop\n-Shop.Logging", "Shop.Logging.Write"));
  EXPECT_TRUE(chooses("+Shop\n-Shop.Logging", "Shop.Orders.Save"));
  EXPECT_FALSE(chooses("-*.get_*\n+Shop\n", "Shop.Orders.get_Id"));
}

TEST(MethodFilter, TakesAttributesByTheirFullNameOrItsEnd) {
  const auto marks = [](const std::string& patterns, const std::string& attribute) {
    MethodFilter filter;
    EXPECT_TRUE(filter.parse(patterns.data(), static_cast<std::uint32_t>(patterns.size())));
    EXPECT_TRUE(filter.has_attributes());
    return filter.marks_of(attribute.data(), static_cast<std::uint32_t>(attribute.size()));
  };
  const std::string route = "Shop.Web.RouteAttribute";
  for (const std::string pattern :
       {"[Route]", "[RouteAttribute]", "[Web.Route]", "[Shop.Web.Route]", "[Shop.*]", "[Ro*]",
        "[Shop.Web.RouteAttribute]"})
    EXPECT_EQ(marks("+" + pattern, route), 1U) << pattern;
  for (const std::string pattern : {"[oute]", "[Shop]", "[Route.Attribute]", "[RouteA]", "[Web]"})
    EXPECT_EQ(marks("+" + pattern, route), 0U) << pattern;
  EXPECT_EQ(marks("+Shop\n+[Other]\n-[Route]", route), 2U);
  EXPECT_EQ(marks("+[Inner]", "Shop.Outer+InnerAttribute"), 1U);
}

TEST(MethodFilter, ChoosesByAttributesAsByNames) {
  MethodFilter filter;
  const std::string patterns = "+[Timed]\n+Shop.Orders\n-[Hidden]";
  ASSERT_TRUE(filter.parse(patterns.data(), static_cast<std::uint32_t>(patterns.size())));
  const auto chosen = [&](const std::string& name, MethodFilter::Marks marks) {
    return filter.chooses_step(name.data(), static_cast<std::uint32_t>(name.size()), marks);
  };
  constexpr MethodFilter::Marks kTimed = 1, kHidden = 2;
  EXPECT_TRUE(chosen("Shop.Stock.Take", kTimed));
  EXPECT_TRUE(chosen("Shop.Orders.Save", 0));
  EXPECT_FALSE(chosen("Shop.Stock.Take", 0));
  EXPECT_FALSE(chosen("Shop.Orders.Save", kHidden));
  EXPECT_FALSE(chosen("Shop.Stock.Take", kTimed | kHidden));
}

std::string name_of_step(const std::string& name) {
  char out[kLongestStepName];
  return {out, step_name(name.data(), static_cast<std::uint32_t>(name.size()), out)};
}

TEST(MethodFilter, KnowsAsyncMethodsByTheNameThatPeopleWrite) {
  EXPECT_EQ(name_of_step("Shop.Orders+<SaveAsync>d__3.MoveNext"), "Shop.Orders.SaveAsync");
  EXPECT_EQ(name_of_step("Shop.Cache+<Get>d__1`1.MoveNext"), "Shop.Cache.Get");
  EXPECT_EQ(name_of_step("Program+<>c+<<Main>b__0_1>d.MoveNext"), "Program+<>c.<Main>b__0_1");
  EXPECT_EQ(name_of_step("Program+<<Main>g__Load|0_2>d.MoveNext"), "Program.<Main>g__Load|0_2");
  for (const std::string other : {"Shop.Orders.MoveNext", "Shop.Orders+<>c.<Main>b__0_1", "+<", "<",
                                  "Shop.Orders+<SaveAsync>d__3.Other", "A+<>d.MoveNext"})
    EXPECT_EQ(name_of_step(other), "") << other;
  const auto chosen = [](const std::string& patterns, const std::string& name) {
    MethodFilter filter;
    EXPECT_TRUE(filter.parse(patterns.data(), static_cast<std::uint32_t>(patterns.size())));
    return filter.chooses_step(name.data(), static_cast<std::uint32_t>(name.size()));
  };
  const std::string step = "Shop.Orders+<SaveAsync>d__3.MoveNext";
  EXPECT_TRUE(chosen("+Shop.Orders.SaveAsync", step));
  EXPECT_TRUE(chosen("+Shop", step));
  EXPECT_FALSE(chosen("+Shop\n-Shop.Orders.SaveAsync", step));
  EXPECT_FALSE(chosen("+Shop.Orders.Save", step));
  EXPECT_TRUE(chosen("+Shop.Orders.Save", "Shop.Orders.Save"));
}

TEST(MethodFilter, KnowsWhatTheCompilerMakes) {
  const auto made = [](const std::string& name) {
    return is_made_by_compiler(name.data(), static_cast<std::uint32_t>(name.size()));
  };
  EXPECT_TRUE(made("Shop.Orders+<List>d__2..ctor"));
  EXPECT_TRUE(made("Shop.Orders+<List>d__2.System.IAsyncDisposable.DisposeAsync"));
  EXPECT_TRUE(made("Shop.Orders+<>c..cctor"));
  EXPECT_TRUE(made("Shop.Orders+<>c__DisplayClass3_0..ctor"));
  EXPECT_FALSE(made("Shop.Orders+<List>d__2.MoveNext"));
  EXPECT_FALSE(made("Shop.Orders+<>c.<List>b__0_0"));
  EXPECT_FALSE(made("Shop.Orders..ctor"));
  EXPECT_FALSE(made("Shop.Orders.List"));
}

TEST(MethodFilter, RefusesWhatIsNotAList) {
  for (const std::string text : {"", "-Shop", "Shop", "+", "+Shop\n?x", "+[]", "+[Shop"}) {
    MethodFilter filter;
    EXPECT_FALSE(filter.parse(text.data(), static_cast<std::uint32_t>(text.size()))) << text;
  }
  std::string many;
  for (int i = 0; i < 200; ++i) many += "+a\n";
  MethodFilter filter;
  EXPECT_FALSE(filter.parse(many.data(), static_cast<std::uint32_t>(many.size())));
}

TEST(MethodFilter, KnowsHelpersOfTheRuntime) {
  const auto is_helper = [](const std::string& name) {
    return is_runtime_helper(name.data(), static_cast<std::uint32_t>(name.size()));
  };
  EXPECT_TRUE(is_helper("System.Runtime.CompilerServices.CastHelpers.ChkCastAny"));
  EXPECT_TRUE(is_helper("System.Runtime.EH.RhThrowEx"));
  EXPECT_TRUE(is_helper("System.Buffer.MemCopyGC"));
  EXPECT_TRUE(is_helper("System.Math.ConvertToInt32Checked"));
  EXPECT_TRUE(is_helper("System.SpanHelpers.Memmove"));
  EXPECT_FALSE(is_helper("System.SpanHelpers.IndexOfChar"));
  EXPECT_FALSE(is_helper("System.String.Concat"));
}

TEST(Probes, CountCallsAndSplitTimes) {
  ProbeTable table;
  ASSERT_TRUE(table.open());
  table.reset(4);
  std::uint64_t outer_saved = 0, inner_saved = 0;
  const auto outer = probe_enter(0, &outer_saved);
  for (int i = 0; i < 3; ++i) {
    const auto inner = probe_enter(1, &inner_saved);
    ASSERT_NE(inner, 0);
    probe_leave(1, inner, inner_saved);
  }
  probe_leave(0, outer, outer_saved);
  EXPECT_EQ(table.leaves(0), 1U);
  EXPECT_EQ(table.leaves(1), 3U);
  const auto& one = table.shared()->counters[0][0];
  const auto& other = table.shared()->counters[0][1];
  EXPECT_EQ(one.total.load() - one.self.load(), other.total.load());
  EXPECT_EQ(other.total.load(), other.self.load());
  EXPECT_LE(~other.shortest.load(), other.longest.load());
  // A call that began before is not counted when it ends.
  const auto late = probe_enter(2, &outer_saved);
  table.reset(4);
  probe_leave(2, late, outer_saved);
  EXPECT_EQ(table.leaves(2), 0U);
}

TEST(Probes, LoseNothingOnMoreThreadsThanSlabs) {
  ProbeTable table;
  ASSERT_TRUE(table.open());
  table.reset(4);
  std::vector<std::thread> threads;
  constexpr int kThreads = 100, kCalls = 1000;
  std::atomic<int> ready{0};
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (int call = 0; call < kCalls; ++call) {
        std::uint64_t saved = 0;
        const auto start = probe_enter(3, &saved);
        probe_leave(3, start, saved);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(table.leaves(3), static_cast<std::uint64_t>(kThreads) * kCalls);
  EXPECT_EQ(table.shared()->header.not_counted.load(), 0U);
  table.reset(4);
}

// One module with the type Shop.Orders and four methods: Save (int), get_Id (trivial), Jump (jmp),
// Inlines (not asked for).
struct TinyRuntime {
  static constexpr Id kModule = 0x5000;
  static inline std::vector<Token> requested, reverted;
  static inline std::uint32_t mask = 0;
  static inline std::uint32_t signatures = 0;
  static inline std::vector<std::uint8_t> new_body;
  static inline HResult answer = kOk;
  static inline Rejit* cancelled = nullptr;  // while it asks for methods
  static inline std::uint32_t module_flags = 1, method_flags = 0;
  static inline std::vector<std::string> calls;  // that suspend, write or compile
  static inline HResult opening = kOk, suspending = kOk;
  static inline Rejit* early = nullptr;  // is asked for new code while its module is opened
  static inline bool is_core = false;    // Inlines is System.Buffer.Inlines and calls Save

  TinyRuntime() {
    cancelled = nullptr;
    requested.clear();
    reverted.clear();
    new_body.clear();
    answer = kOk;
    module_flags = 1;
    method_flags = 0;
    calls.clear();
    opening = suspending = kOk;
    early = nullptr;
    is_core = false;
    for (auto& slot : info_table_) slot = reinterpret_cast<Slot>(&none);
    for (auto& slot : other_table_) slot = reinterpret_cast<Slot>(&none);
    for (auto& slot : modules_table_) slot = reinterpret_cast<Slot>(&none);
    set(
        info::kGetEventMask2,
        +[](ComObject*, std::uint32_t* low, std::uint32_t*) { return *low = mask, kOk; });
    set(
        info::kSetEventMask2,
        +[](ComObject*, std::uint32_t low, std::uint32_t) { return mask = low, kOk; });
    set(
        info::kEnumModules, +[](ComObject*, ComObject** out) {
          next_ = 0;
          return *out = &modules_, kOk;
        });
    set(
        info::kGetModuleInfo2, +[](ComObject*, Id, const std::uint8_t**, std::uint32_t,
                                   std::uint32_t* size, char16_t* name, Id*, std::uint32_t* flags) {
          put(is_core ? u"/app/System.Private.CoreLib.dll" : u"/app/Shop.dll", name, size);
          return *flags = module_flags, kOk;
        });
    set(
        info::kGetModuleMetaData,
        +[](ComObject*, Id, std::uint32_t how, const Guid*, ComObject** out) {
          if ((how & 1) != 0) {
            calls.emplace_back("write");
            if (early) (void)early->on_parameters(&info_, kModule, 0x0600'0001, &control_);
            if (opening < 0) return opening;
          }
          return *out = &other_, kOk;
        });
    set(
        info::kSuspendRuntime, +[](ComObject*) {
          calls.emplace_back("suspend");
          return suspending;
        });
    set(
        info::kResumeRuntime, +[](ComObject*) { return calls.emplace_back("resume"), kOk; });
    set(info::kGetILFunctionBody, &il_body);
    set(info::kRequestReJITWithInliners, &request);
    set(info::kRequestRevert, &revert);
    modules_table_[enumerator::kNext] =
        reinterpret_cast<Slot>(+[](ComObject*, std::uint32_t, Id* id, std::uint32_t* got) {
          *got = next_++ == 0 ? 1 : 0;
          *id = kModule;
          return *got == 1 ? kOk : kFalse;
        });
    set_other(
        metadata::kEnumTypeDefs,
        +[](ComObject*, void** at, Token* out, std::uint32_t, std::uint32_t* got) {
          *got = *at ? 0 : is_core ? 2 : 1;
          *at = &next_;
          out[1] = 0x0200'0003;
          return *out = 0x0200'0002, kOk;
        });
    set_other(
        metadata::kEnumMethods,
        +[](ComObject*, void** at, Token type, Token* out, std::uint32_t, std::uint32_t* got) {
          const bool is_buffer = is_core && type == 0x0200'0003;
          *got = *at ? 0 : is_buffer ? 1 : is_core ? 3 : 4;
          *at = &next_;
          for (Token i = 0; i < 4; ++i) out[i] = 0x0600'0001 + i + (is_buffer ? 3 : 0);
          return kOk;
        });
    set_other(
        metadata::kGetTypeDefProps, +[](ComObject*, Token type, char16_t* name, std::uint32_t,
                                        std::uint32_t* size, std::uint32_t*, Token*) {
          return put(type == 0x0200'0003 ? u"System.Buffer" : u"Shop.Orders", name, size), kOk;
        });
    set_other(metadata::kGetMethodProps, &method_props);
    set_other(
        metadata::kGetCustomAttributeByName, +[] { return kFalse; });
    // Save carries [Timed], by a reference to its constructor.
    set_other(
        metadata::kEnumCustomAttributes,
        +[](ComObject*, void** at, Token of, Token, Token* out, std::uint32_t, std::uint32_t* got) {
          *got = *at || of != 0x0600'0001 ? 0 : 1;
          *at = &next_;
          return *out = 0x0c00'0001, kOk;
        });
    set_other(
        metadata::kGetCustomAttributeProps,
        +[](ComObject*, Token, Token*, Token* constructor, const void**, std::uint32_t*) {
          return *constructor = 0x0a00'0001, kOk;
        });
    set_other(
        metadata::kGetMemberRefProps,
        +[](ComObject*, Token, Token* type, char16_t*, std::uint32_t, std::uint32_t*,
            const std::uint8_t**, std::uint32_t*) { return *type = 0x0100'0001, kOk; });
    set_other(
        metadata::kGetTypeRefProps,
        +[](ComObject*, Token, Token*, char16_t* name, std::uint32_t, std::uint32_t* size) {
          return put(u"Shop.TimedAttribute", name, size), kOk;
        });
    set_other(
        emit::kGetTokenFromSig, +[](ComObject*, const std::uint8_t*, std::uint32_t, Token* token) {
          return *token = 0x1100'0001 + signatures++, kOk;
        });
    // The control of one compilation; the slot is another one's in the other tables.
    control_table_[control::kSetILFunctionBody] =
        reinterpret_cast<Slot>(+[](ComObject*, std::uint32_t size, const std::uint8_t* bytes) {
          new_body.assign(bytes, bytes + size);
          return kOk;
        });
    info_.table = info_table_;
    other_.table = other_table_;
    modules_.table = modules_table_;
    control_.table = control_table_;
  }

  ComObject* runtime() { return &info_; }
  ComObject* control() { return &control_; }

 private:
  template <class Function>
  static void set(unsigned slot, Function* function) {
    info_table_[slot] = reinterpret_cast<Slot>(function);
  }
  template <class Function>
  static void set_other(unsigned slot, Function* function) {
    other_table_[slot] = reinterpret_cast<Slot>(function);
  }
  static HResult none() { return kFail; }
  static void put(const char16_t* text, char16_t* to, std::uint32_t* size) {
    *size = 0;
    do
      if (to) to[*size] = text[*size];
    while (text[(*size)++] != 0);
  }
  static HResult method_props(ComObject*, Token token, Token*, char16_t* name, std::uint32_t,
                              std::uint32_t* size, std::uint32_t*, const std::uint8_t** signature,
                              std::uint32_t* signature_size, std::uint32_t* address,
                              std::uint32_t* flags) {
    static constexpr const char16_t* kNames[] = {u"Save", u"get_Id", u"Jump", u"Inlines"};
    static constexpr std::uint8_t kReturnsInt[] = {0x00, 0x00, 0x08};
    put(kNames[(token - 1) & 3], name, size);
    *signature = kReturnsInt;
    *signature_size = sizeof kReturnsInt;
    *address = 0x2000;
    return *flags = method_flags, kOk;
  }
  static HResult il_body(ComObject*, Id, Token token, const std::uint8_t** out,
                         std::uint32_t* size) {
    // ldc.i4.7 call ret; ldc.i4.7 ret; jmp; as the first
    static constexpr std::uint8_t kBodies[][8] = {{0x1e, 0x28, 1, 0, 0, 6, 0x1d, 0x2a},
                                                  {0x0a, 0x1d, 0x2a},
                                                  {0x16, 0x27, 1, 0, 0, 6},
                                                  {0x1e, 0x28, 1, 0, 0, 6, 0x1d, 0x2a}};
    static constexpr std::uint32_t kSizes[] = {8, 3, 6, 8};
    *out = kBodies[(token - 1) & 3];
    *size = kSizes[(token - 1) & 3];
    return kOk;
  }
  static HResult request(ComObject*, std::uint32_t flags, std::uint32_t count, const Id*,
                         const Token* tokens) {
    EXPECT_EQ(flags, 1U);
    calls.emplace_back("compile");
    if (answer < 0) return answer;
    requested.insert(requested.end(), tokens, tokens + count);
    if (cancelled) cancelled->cancel();
    return kOk;
  }
  static HResult revert(ComObject*, std::uint32_t count, const Id*, const Token* tokens, HResult*) {
    reverted.insert(reverted.end(), tokens, tokens + count);
    return kOk;
  }

  static inline Slot info_table_[info::kEnd15];
  static inline Slot other_table_[70];
  static inline Slot modules_table_[8];
  static inline Slot control_table_[6];
  static inline ComObject info_{}, other_{}, modules_{}, control_{};
  static inline std::uint32_t next_ = 0;
};

constexpr Token kSave = 0x0600'0001, kInlines = 0x0600'0004;
using Calls = std::vector<std::string>;

void order(Rejit& rejit, wire::Probes* shared, const std::string& patterns) {
  std::memcpy(shared->order.patterns, patterns.data(), patterns.size());
  shared->order.pattern_bytes = static_cast<std::uint32_t>(patterns.size());
  shared->order.flags = 0;
  shared->order.smallest_il = 0;
  shared->order.share_ppm = 20'000;
  rejit.announce();
}

TEST(Rejit, InstrumentsWhatIsChosenAndGivesItBack) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  auto* shared = rejit->shared();
  EXPECT_EQ(rejit->mask(), 0U);
  order(*rejit, shared, "+Shop\n-*.Inlines\n");
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  EXPECT_EQ(shared->header.progress.load(),
            static_cast<std::uint32_t>(wire::ProbeProgress::kApplied));
  EXPECT_TRUE(rejit->is_applied());
  EXPECT_EQ(TinyRuntime::mask, std::uint32_t{mask::kEnableReJit});
  EXPECT_EQ(TinyRuntime::requested, (std::vector<Token>{kSave}));
  EXPECT_EQ(shared->header.skipped_trivial.load(), 1U);
  ASSERT_EQ(shared->header.methods.load(), 2U);
  const auto& jump = shared->methods[1];
  EXPECT_EQ((std::string{shared->text + jump.name_offset, jump.name_size}), "Shop.Orders.Jump");
  EXPECT_EQ(jump.reason.load(), static_cast<std::uint32_t>(il::Reason::kJmp));

  ASSERT_EQ(rejit->on_parameters(clr.runtime(), TinyRuntime::kModule, kSave, clr.control()), kOk);
  EXPECT_EQ(shared->methods[0].state.load(),
            static_cast<std::uint32_t>(wire::ProbeState::kInstrumented));
  il::Body body;
  ASSERT_EQ(il::parse_body(TinyRuntime::new_body.data(),
                           static_cast<std::uint32_t>(TinyRuntime::new_body.size()), body),
            il::Reason::kNone);
  EXPECT_EQ(body.clause_count, 1U);
  // One that had inlined it keeps its code, and is given back too.
  TinyRuntime::new_body.clear();
  ASSERT_EQ(rejit->on_parameters(clr.runtime(), TinyRuntime::kModule, kInlines, clr.control()),
            kOk);
  EXPECT_TRUE(TinyRuntime::new_body.empty());
  EXPECT_EQ(shared->header.inliners.load(), 1U);
  ASSERT_EQ(rejit->revert(clr.runtime()), kOk);
  EXPECT_EQ(TinyRuntime::reverted, (std::vector<Token>{kSave, kInlines}));
  EXPECT_FALSE(rejit->is_active());
  EXPECT_TRUE(rejit->is_enabled());
}

TEST(Rejit, OpensAModuleForWritingOnceWhileTheRuntimeIsSuspendedBeforeItCompiles) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  order(*rejit, rejit->shared(), "+Shop");
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  const auto& calls = TinyRuntime::calls;
  ASSERT_GE(calls.size(), 4U);  // another thread of the test can be at work: suspended again
  EXPECT_EQ(Calls(calls.end() - 4, calls.end()), (Calls{"suspend", "write", "resume", "compile"}));
  TinyRuntime::calls.clear();
  ASSERT_EQ(rejit->revert(clr.runtime()), kOk);
  order(*rejit, rejit->shared(), "+Shop");
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  EXPECT_EQ(TinyRuntime::calls, (Calls{"compile"}));
  ASSERT_EQ(rejit->revert(clr.runtime()), kOk);
}

TEST(Rejit, SuspendsNothingWhenNoMethodIsChosen) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  order(*rejit, rejit->shared(), "+Nothing");
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  EXPECT_TRUE(TinyRuntime::calls.empty());
  ASSERT_EQ(rejit->revert(clr.runtime()), kOk);
}

TEST(Rejit, CompilesNothingOfAModuleThatCannotBeOpenedForWriting) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  auto* shared = rejit->shared();
  TinyRuntime::opening = hresult(0x8007'000e);
  order(*rejit, shared, "+Shop.Orders.Save");
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  EXPECT_TRUE(TinyRuntime::requested.empty());
  EXPECT_EQ(TinyRuntime::calls.back(), "resume");
  EXPECT_EQ(shared->methods[0].reason.load(),
            static_cast<std::uint32_t>(il::Reason::kRefusedByRuntime));
  EXPECT_EQ(shared->methods[0].hresult.load(), hresult(0x8007'000e));
  ASSERT_EQ(rejit->revert(clr.runtime()), kOk);
}

TEST(Rejit, CompilesNothingWhenTheRuntimeCannotBeSuspended) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  auto* shared = rejit->shared();
  TinyRuntime::suspending = kFail;
  order(*rejit, shared, "+Shop.Orders.Save");
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  EXPECT_TRUE(TinyRuntime::requested.empty());
  for (const auto& one : TinyRuntime::calls) EXPECT_EQ(one, "suspend");
  EXPECT_EQ(shared->methods[0].hresult.load(), kFail);
  ASSERT_EQ(rejit->revert(clr.runtime()), kOk);
}

TEST(Rejit, GivesNoNewCodeToAMethodWhoseModuleIsNotOpenYet) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  order(*rejit, rejit->shared(), "+Shop.Orders.Save");
  // It inlines a method of another module that is being measured already.
  TinyRuntime::early = rejit.get();
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  TinyRuntime::early = nullptr;
  EXPECT_TRUE(TinyRuntime::new_body.empty());
  EXPECT_EQ(TinyRuntime::requested, (std::vector<Token>{kSave}));
  ASSERT_EQ(rejit->on_parameters(clr.runtime(), TinyRuntime::kModule, kSave, clr.control()), kOk);
  EXPECT_FALSE(TinyRuntime::new_body.empty());
  ASSERT_EQ(rejit->revert(clr.runtime()), kOk);
}

TEST(Rejit, LeavesWhatHelpersOfTheRuntimeCallAsItIs) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  TinyRuntime::is_core = true;
  order(*rejit, rejit->shared(), "+Shop.Orders.Save");
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  EXPECT_TRUE(TinyRuntime::requested.empty());
  EXPECT_EQ(rejit->shared()->methods[0].reason.load(),
            static_cast<std::uint32_t>(il::Reason::kIntrinsic));
  ASSERT_EQ(rejit->revert(clr.runtime()), kOk);
}

TEST(Rejit, TakesBackAnOrderThatIsCancelledWhileItIsCarriedOut) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  auto* shared = rejit->shared();
  TinyRuntime::cancelled = rejit.get();
  order(*rejit, shared, "+Shop\n");
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  EXPECT_EQ(shared->header.progress.load(), static_cast<std::uint32_t>(wire::ProbeProgress::kIdle));
  EXPECT_FALSE(TinyRuntime::requested.empty());
  EXPECT_EQ(TinyRuntime::reverted, TinyRuntime::requested);
  EXPECT_FALSE(rejit->is_applied());
  TinyRuntime::cancelled = nullptr;
  order(*rejit, shared, "+Shop.Orders.Save\n");
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  EXPECT_TRUE(rejit->is_applied());
  ASSERT_EQ(rejit->revert(clr.runtime()), kOk);
}

TEST(Rejit, GivesBackAMethodThatCostsTooMuch) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  auto* shared = rejit->shared();
  order(*rejit, shared, "+Shop.Orders.Save");
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  ASSERT_EQ(rejit->on_parameters(clr.runtime(), TinyRuntime::kModule, kSave, clr.control()), kOk);
  const auto now = monotonic_ns();
  rejit->tick(clr.runtime(), now);
  EXPECT_TRUE(TinyRuntime::reverted.empty());
  for (int i = 0; i < 2000; ++i) {
    std::uint64_t saved = 0;
    const auto start = probe_enter(0, &saved);
    probe_leave(0, start, saved);
  }
  rejit->tick(clr.runtime(), now + 1'000'000);  // 2000 calls in a millisecond
  EXPECT_EQ(TinyRuntime::reverted, (std::vector<Token>{kSave}));
  EXPECT_EQ(shared->methods[0].reason.load(), static_cast<std::uint32_t>(il::Reason::kOverBudget));
  ASSERT_EQ(rejit->revert(clr.runtime()), kOk);
  EXPECT_EQ(TinyRuntime::reverted.size(), 1U);
}

TEST(Rejit, SaysWhatTheRuntimeRefuses) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  auto* shared = rejit->shared();
  TinyRuntime::answer = hresult(0x8013'1363);
  order(*rejit, shared, "+Shop.Orders.Save");
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  EXPECT_EQ(shared->methods[0].reason.load(),
            static_cast<std::uint32_t>(il::Reason::kRefusedByRuntime));
  EXPECT_EQ(shared->methods[0].hresult.load(), hresult(0x8013'1363));
  TinyRuntime::answer = kOk;
  order(*rejit, shared, "+Shop.Orders.Save");
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  rejit->on_error(TinyRuntime::kModule, kSave, hresult(0x8013'1381));
  EXPECT_EQ(shared->methods[0].hresult.load(), hresult(0x8013'1381));
}

TEST(Rejit, LeavesModulesAloneThatCanBeUnloadedOrAreMadeAtRunTime) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  constexpr std::uint32_t kDynamic = 4, kCollectible = 8;
  for (const auto flag : {kDynamic, kCollectible}) {
    TinyRuntime::module_flags = 1 | flag;
    order(*rejit, rejit->shared(), "+Shop");
    ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
    EXPECT_EQ(rejit->shared()->header.skipped_modules.load(), 1U);
    EXPECT_TRUE(TinyRuntime::requested.empty());
  }
}

TEST(Rejit, SaysWhichMethodsTheRuntimeItselfSuspends) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  TinyRuntime::method_flags = 0x2000;  // MethodImplAttributes.Async, .NET 11
  order(*rejit, rejit->shared(), "+Shop.Orders.Save");
  ASSERT_EQ(rejit->apply(clr.runtime()), kOk);
  EXPECT_TRUE(TinyRuntime::requested.empty());
  EXPECT_EQ(rejit->shared()->methods[0].reason.load(),
            static_cast<std::uint32_t>(il::Reason::kRuntimeAsync));
}

TEST(Rejit, TakesNoOrderThatCannotBe) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  auto* shared = rejit->shared();
  order(*rejit, shared, "Shop");
  EXPECT_LT(rejit->apply(clr.runtime()), 0);
  EXPECT_EQ(shared->header.progress.load(),
            static_cast<std::uint32_t>(wire::ProbeProgress::kFailed));
  order(*rejit, shared, "+Shop");
  shared->order.pattern_bytes = 0xffff'ffff;
  EXPECT_LT(rejit->apply(clr.runtime()), 0);
  EXPECT_FALSE(rejit->is_enabled());
  // The listener is gone meanwhile: nothing stays changed.
  order(*rejit, shared, "+Shop");
  rejit->cancel();
  EXPECT_EQ(rejit->apply(clr.runtime()), kOk);
  EXPECT_FALSE(rejit->is_active());
  EXPECT_FALSE(ProbeTable::is_on());
}

TEST(Rejit, ChoosesByAttributesOfMethods) {
  TinyRuntime clr;
  const auto rejit = std::make_unique<Rejit>();
  ASSERT_TRUE(rejit->open());
  order(*rejit, rejit->shared(), "+[Route]");
  EXPECT_EQ(rejit->apply(clr.runtime()), kOk);
  EXPECT_EQ(TinyRuntime::requested, (std::vector<Token>{}));
  order(*rejit, rejit->shared(), "+[Timed]");
  EXPECT_EQ(rejit->apply(clr.runtime()), kOk);
  EXPECT_EQ(TinyRuntime::requested, (std::vector<Token>{kSave}));
}

}  // namespace
}  // namespace clrscope::agent
