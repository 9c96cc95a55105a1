// For tests: traces made event by event with the real writer and read with the real reader.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nettrace/reader.h"
#include "nettrace/writer.h"

namespace clrscope::analyze {

constexpr std::string_view kRuntimeName = "Microsoft-Windows-DotNETRuntime";
constexpr std::string_view kRundownName = "Microsoft-Windows-DotNETRuntimeRundown";
constexpr std::string_view kSamplerName = "Microsoft-DotNETCore-SampleProfiler";
constexpr std::string_view kEventPipeName = "Microsoft-DotNETCore-EventPipe";
constexpr std::string_view kUniversalSystem = "Universal.System";
constexpr std::string_view kUniversalEvents = "Universal.Events";

// A payload's fields, one after the other.
class Payload {
 public:
  template <class T>
  Payload& add(T value) {
    bytes_.write(value);
    return *this;
  }
  Payload& text(std::string_view utf8) {
    for (const auto unit : utf16_of(utf8)) bytes_.write(unit);
    bytes_.write(char16_t{0});
    return *this;
  }
  Payload& varuint(std::uint64_t value) {
    bytes_.write_varuint(value);
    return *this;
  }
  Payload& text8(std::string_view utf8) {  // as Universal.System writes it
    bytes_.write(static_cast<std::uint16_t>(utf8.size()));
    bytes_.put(utf8);
    return *this;
  }
  Bytes bytes() const { return bytes_.bytes(); }

 private:
  ByteWriter bytes_;
};

class TestTrace {
 public:
  // Time 0 is the trace's beginning; times are in nanoseconds.
  explicit TestTrace(std::int64_t window_ns = 0)
      : writer_(info(window_ns), [this](Bytes bytes) -> Result<> {
          out_ += as_text(bytes);
          return {};
        }) {
    source_ = writer_.add_source(nettrace::Writer::Numbering::kNone);
  }
  TestTrace(const TestTrace&) = delete;
  TestTrace& operator=(const TestTrace&) = delete;

  struct At {
    std::int64_t time = 0;
    std::uint64_t thread = 1;
    std::int32_t process = 100;
  };
  void event(std::string_view provider, std::uint32_t id, std::uint32_t version, At at,
             const Payload& payload = {}, const std::vector<std::uint64_t>& stack = {}) {
    const Event event{.type = &type(provider, id, version),
                      .time = TraceTime{std::chrono::nanoseconds{at.time}},
                      .ticks = at.time,
                      .thread = ThreadId{at.thread},
                      .capture_thread = at.thread,
                      .payload = payload.bytes(),
                      .process = ProcessId{at.process}};
    const Bytes bytes{reinterpret_cast<const std::uint8_t*>(stack.data()), stack.size() * 8};
    CHECK(writer_.write(source_, event, StackView{bytes, 8}));
  }
  // Of a type that says its own fields. `index` must differ from type to type, from 1000 on.
  void typed(const EventType& type, At at, const Payload& payload,
             const std::vector<std::uint64_t>& stack = {}) {
    const Event event{.type = &type,
                      .time = TraceTime{std::chrono::nanoseconds{at.time}},
                      .ticks = at.time,
                      .thread = ThreadId{at.thread},
                      .capture_thread = at.thread,
                      .payload = payload.bytes(),
                      .process = ProcessId{at.process}};
    const Bytes bytes{reinterpret_cast<const std::uint8_t*>(stack.data()), stack.size() * 8};
    CHECK(writer_.write(source_, event, StackView{bytes, 8}));
  }
  void sample(At at, const std::vector<std::uint64_t>& stack, std::uint32_t type = 2) {
    event(kSamplerName, 0, 0, at, Payload{}.add(type), stack);
  }
  void method(std::string_view provider, std::uint32_t id, At at, std::uint64_t start,
              std::uint32_t size, std::string_view type, std::string_view name,
              std::uint32_t flags = 8) {
    event(provider, id, 1, at,
          Payload{}
              .add(start + 1)
              .add(std::uint64_t{7})
              .add(start)
              .add(size)
              .add(0U)
              .add(flags)
              .text(type)
              .text(name)
              .text("void  ()")
              .add(std::uint16_t{0}));
  }

  // Of Universal.Events: "cpu", "cswitch".
  void universal(std::string_view name, At at, std::uint64_t value,
                 const std::vector<std::uint64_t>& stack) {
    names_.try_emplace(std::string{name}, static_cast<std::uint32_t>(names_.size()));
    event(kUniversalEvents, names_.find(name)->second, 0, at, Payload{}.varuint(value), stack);
  }
  // A processor's sample as we write it: with the time it stands for.
  void cpu_sample(At at, std::uint64_t ns, const std::vector<std::uint64_t>& stack) {
    typed(cpu_type_, at, Payload{}.varuint(1).varuint(ns), stack);
  }
  void mapping(At at, std::uint64_t id, std::uint64_t start, std::uint64_t end,
               std::string_view path) {
    event(kUniversalSystem, 3, 0, at,
          Payload{}.varuint(id).varuint(start).varuint(end).varuint(0).text8(path).varuint(0));
  }
  void symbol(At at, std::uint64_t mapping, std::uint64_t first, std::uint64_t last,
              std::string_view name) {
    event(kUniversalSystem, 4, 0, at,
          Payload{}.varuint(1).varuint(mapping).varuint(first).varuint(last).text8(name));
  }
  void name_thread(At at, std::string name) {
    writer_.name_thread(ProcessId{at.process}, ThreadId{at.thread}, std::move(name));
  }

  // Ends the trace: all of it, as a file has it.
  const std::string& bytes() {
    if (!finished_) CHECK(writer_.finish());
    finished_ = true;
    return out_;
  }

  // Ends the trace and gives all of it to a report or a builder.
  template <class Reads>
  void read_into(Reads& reads) {
    bytes();
    nettrace::Reader reader;
    const auto on_batch = [&](const nettrace::Batch& batch) { reads.on_batch(reader, batch); };
    CHECK(reader.feed(as_bytes(out_), on_batch));
    CHECK(reader.finish(on_batch));
    CHECK(reader.summary().damaged == 0);
    if constexpr (requires { reads.end_of_trace(reader); })
      reads.end_of_trace(reader);
    else
      reads.end_of_trace();
  }

 private:
  static nettrace::TraceInfo info(std::int64_t window_ns) {
    nettrace::TraceInfo info;
    info.version = 6;
    info.ticks_per_second = 1'000'000'000;
    info.process = ProcessId{100};
    info.window_ns = window_ns;
    return info;
  }
  const EventType& type(std::string_view provider, std::uint32_t id, std::uint32_t version) {
    auto& slot = types_[{std::string{provider}, id, version}];
    if (!slot) {
      slot = std::make_unique<EventType>();
      slot->index = static_cast<std::uint32_t>(types_.size() - 1);
      slot->provider = provider;
      slot->id = id;
      slot->version = version;
      for (const auto& [name, number] : names_)
        if (provider == kUniversalEvents && number == id) slot->name = name;
      if (provider == kEventPipeName) slot->name = "ProcessInfo";
    }
    return *slot;
  }

  const EventType cpu_type_{
      .index = 999,
      .provider = std::string{kUniversalEvents},
      .name = "cpu",
      .id = 99,
      .fields = {{.name = "Value", .type = TypeCode::kVarUInt},
                 {.name = "Period", .type = TypeCode::kVarUInt}},
  };
  std::string out_;
  bool finished_ = false;
  nettrace::Writer writer_;
  nettrace::SourceId source_{};
  std::map<std::string, std::uint32_t, std::less<>> names_;  // of Universal.Events: ids
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, std::unique_ptr<EventType>>
      types_;
};

}  // namespace clrscope::analyze
