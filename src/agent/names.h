// Names of methods and types, from the runtime's ids, by its metadata.
//
// May be called where the runtime is not suspended and the id cannot be unloaded meanwhile: in a
// callback about code that is on the stack, or under the unload gate.
#pragma once

#include "agent/clr_abi.h"
#include "agent/name_text.h"
#include "agent/recorder.h"

namespace clrscope::agent {

// IMetaDataImport2 of a module, which the caller releases; null: none.
ComObject* open_metadata(ComObject* runtime, Id module);
// "Namespace.Outer+Inner"
void put_type(ComObject* metadata, Token type, Text& out);

// The slot of a method ("Shop.Orders.Buy") or type ("Shop.OutOfStockException"); asks the runtime
// when it is seen for the first time.
std::uint32_t method_slot(ComObject* runtime, Recorder& recorder, Id function);
std::uint32_t type_slot(ComObject* runtime, Recorder& recorder, Id type);
// The same where the name is told: UTF-16, perhaps unaligned, `units` long.
std::uint32_t type_slot(ComObject* runtime, Recorder& recorder, Id type, const std::uint8_t* name,
                        std::uint32_t units);

}  // namespace clrscope::agent
