#include "fleet/rest_body.h"

#include <algorithm>

#include "site/answer.h"

namespace clrscope::fleet {

void RestBody::send_all_of(std::string& text) {
  if (!send_ || text.size() < kPiece) return;
  in_pieces_ = true;
  if (sent_) sent_ = send_(head_, std::exchange(text, {}));
  text.clear();
}

Result<> RestBody::bytes(std::string_view bytes) {
  for (; !bytes.empty() && sent_; bytes.remove_prefix(std::min(bytes.size(), kPiece))) {
    head_.body += bytes.substr(0, kPiece);
    send_all_of(head_.body);
  }
  return sent_;
}

net::HttpResponse RestBody::take() && {
  if (head_.type.starts_with(site::kJson)) head_.body += std::move(json_).take() + "\n";
  return std::move(head_);
}

}  // namespace clrscope::fleet
