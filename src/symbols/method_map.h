// Address to managed method over time, for one process.
//
// Fed by the runtime's load and unload events and by the rundown at the end of a session, in any
// order: what an event says of an address range holds from its load to its unload, or for the whole
// trace when only the rundown knows it. Names are put together on demand, since most methods are
// never asked for. One map belongs to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "model/intern.h"

namespace clrscope {

// What an event says of a method's code. Texts are UTF-16LE, as they lie in the payload.
struct MethodCode {
  std::uint64_t start = 0;
  std::uint32_t size = 0;
  std::uint64_t method_id =
      0;  // the runtime's handle: another body of the same method has the same
  std::uint64_t module_id = 0;
  std::uint32_t token = 0;  // in the module's metadata
  bool dynamic = false;     // made at run time, in no module
  bool jitted = true;       // else it was compiled ahead of time, and lies in an image
  Bytes type{};             // "Shop.Cart"
  Bytes name{};
  Bytes signature{};
};

struct Method {
  std::uint64_t start = 0;
  std::uint32_t size = 0;
  std::uint32_t token = 0;
  StringId type{};
  StringId name{};
  StringId signature{};
  std::uint64_t method_id = 0;
  std::uint64_t module_id = 0;
  TraceTime from = TraceTime::min();
  TraceTime to = TraceTime::max();
  bool dynamic = false;
  bool jitted = true;
};

class MethodMap {
 public:
  void loaded(const MethodCode& code, TraceTime when);
  void unloaded(const MethodCode& code, TraceTime when);
  void known(const MethodCode& code);  // by a rundown: there, since when nobody knows
  void module(std::uint64_t module_id, Bytes path_utf16);

  // The method whose code was at the address at that time. When its time is not known exactly, the
  // one that was there nearest to it. Null when there was never any. `always` says that the answer
  // is the same for all times. Lives until the map grows.
  struct Found {
    const Method* method = nullptr;
    bool always = true;
  };
  Found find(std::uint64_t address, TraceTime when);

  std::string name(const Method& method) const;              // see method_name.h
  std::string_view module_path(const Method& method) const;  // empty when not known
  std::string_view type_name(const Method& method) const { return strings_.text(method.type); }
  std::string_view bare_name(const Method& method) const { return strings_.text(method.name); }
  std::size_t size() const { return methods_.size(); }
  // Of a method that find() gave: below size(), for tables of your own. Holds until the map grows.
  std::size_t index(const Method& method) const {
    return static_cast<std::size_t>(&method - methods_.data());
  }

 private:
  enum class Said : std::uint8_t { kLoaded, kUnloaded, kKnown };
  struct Note {
    Method method;
    TraceTime when;
    Said said;
  };
  void note(const MethodCode& code, TraceTime when, Said said);
  StringId intern(Bytes utf16);
  void settle();
  void settle_one(std::vector<Note>::iterator begin, std::vector<Note>::iterator end);

  StringTable strings_;
  std::string scratch_;
  std::vector<Note> notes_;      // not yet settled
  std::vector<Method> methods_;  // settled
  // Indices into methods_, sorted by start; the ranges in one layer do not overlap, so that code
  // that took the place of other code lies in another layer.
  std::vector<std::vector<std::uint32_t>> layers_;
  std::unordered_map<std::uint64_t, std::string> modules_;
};

}  // namespace clrscope
