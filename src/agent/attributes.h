// Which attribute patterns of a filter match the attributes of methods and types, by the metadata.
//
// Only attributes that are written on the method or type itself count, by the type of the attribute
// itself: neither inheritance of the method nor of the attribute is followed. A generic attribute
// never matches.
#pragma once

#include "agent/clr_abi.h"
#include "agent/method_filter.h"

namespace clrscope::agent {

// Of one method or type.
MethodFilter::Marks marks_on(ComObject* metadata, Token token, const MethodFilter& filter);
// Of a type and those around it. A type of the compiler has those of the code it was made of: of
// the types around it and, for a state machine, of the async method.
MethodFilter::Marks marks_on_type(ComObject* metadata, Token type, const MethodFilter& filter);

}  // namespace clrscope::agent
