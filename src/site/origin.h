// Which page made a browser send a request, as far as the browser says.
//
// A GET may have effects here: it stops threads, records, writes dumps. So no page of another site
// may make a browser send one, whatever its method; a person may follow a link to a page. Programs
// say nothing of all this and are not asked.
#pragma once

#include "net/http_message.h"

namespace clrscope::site {

// Positive proof: a page of this server sent it.
bool from_own_page(const net::HttpRequest& head);

// Whether a page of another site sent it. `to_page`: it would be answered with a page, to which a
// link of another site may lead.
bool from_foreign_page(const net::HttpRequest& head, bool to_page);

}  // namespace clrscope::site
