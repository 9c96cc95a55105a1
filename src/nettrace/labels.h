// Label lists of V6: what is said of an event beside its type. Private to the reader.
#pragma once

#include "base/bytes.h"
#include "model/event.h"

namespace clrscope::nettrace {

// Reads the labels of one event up to the one marked as the last.
void read_label_list(ByteReader& in, EventLabels& out);

// Steps over one label list without making anything of it; fails the reader when it cannot.
Bytes take_label_list(ByteReader& in);

}  // namespace clrscope::nettrace
