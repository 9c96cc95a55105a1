// A certificate for localhost that lives as long as the test, made by the openssl command.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace clrscope::net {

class TestCertificate {
 public:
  explicit TestCertificate(const std::string& name = "localhost") {
    auto folder = (std::filesystem::temp_directory_path() / "certificateXXXXXX").string();
    CHECK(::mkdtemp(folder.data()));
    folder_ = folder;
    make(name);
  }
  ~TestCertificate() { std::filesystem::remove_all(folder_); }
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  // Anew, in the same files.
  void make(const std::string& name) const {
    const auto command = fmt::format(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
        "-subj /CN={0} -addext subjectAltName=DNS:{0},IP:127.0.0.1 -keyout {1}.new -out {2}.new "
        "2>/dev/null && mv {1}.new {1} && mv {2}.new {2}",
        name, key(), certificate());
    CHECK(std::system(command.c_str()) == 0);
  }
  std::string certificate() const { return folder_ + "/certificate.pem"; }
  std::string key() const { return folder_ + "/key.pem"; }

 private:
  std::string folder_;
};

}  // namespace clrscope::net
