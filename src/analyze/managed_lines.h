// What a trace says of source lines in one process's managed code: for each body of a method which
// IL its machine code came from, and for each module which PDB was made with it. Code that was
// compiled ahead of time has no such events of the runtime: a recording made for lines has some of
// ours, else its own image is asked.
//
// The runtime's events that map IL to machine code name the method, not its code: they stand next
// to the event that does, on the same thread, after a load and before a rundown's end. Give it all
// three kinds in the trace's order. One belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "model/event.h"
#include "symbols/il_map.h"
#include "symbols/method_map.h"
#include "symbols/source_lines.h"

namespace clrscope::analyze {

class ManagedLines {
 public:
  enum class Order : std::uint8_t { kMapFollows, kMapCameBefore };

  void on_code(const Event& event, const MethodCode& code, Order order);
  void on_map(const Event& event, Order order);
  void on_image_map(const Event& event);
  void on_module(std::uint64_t module_id, const std::string& path, PdbReference pdb);

  struct Code {
    const Method& method;
    std::string_view module_path{};
    // The file that is mapped where the code begins, if the trace knows it, and where in it.
    std::string_view image_path{};
    std::uint64_t image_offset = 0;
  };
  // The line of the instruction at `address`, which is one of the method's.
  std::optional<SourceLine> find(SourceLines& lines, const Code& code, std::uint64_t address);

 private:
  struct Body {
    std::uint64_t start = 0;
    std::uint64_t method_id = 0;
    friend bool operator==(const Body&, const Body&) = default;
  };
  struct BodyHash {
    std::size_t operator()(const Body& body) const {
      return static_cast<std::size_t>((body.start ^ body.method_id << 7) * 0x9e3779b97f4a7c15ULL);
    }
  };
  struct Mapped {
    std::uint64_t method_id = 0;
    IlMap map;
  };

  IlMap compiled_ahead(SourceLines& lines, const Code& code) const;
  std::optional<PdbReference> pdb_of_path(std::string_view path) const;

  std::unordered_map<Body, IlMap, BodyHash> maps_;        // empty: known to be nowhere
  std::unordered_map<std::uint64_t, IlMap> image_maps_;   // by where the method begins
  std::unordered_map<std::uint64_t, PdbReference> pdbs_;  // by module
  std::unordered_map<std::string, PdbReference> pdbs_by_path_;
  std::unordered_map<ThreadId, Body> last_code_;   // that a map may follow
  std::unordered_map<ThreadId, Mapped> last_map_;  // whose code is still to come
};

}  // namespace clrscope::analyze
