// What the completion of a signature that contradicts itself says.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "signature/signature.h"

namespace ferrule {

inline std::string refused(const Signature& s) {
  try {
    complete(s);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::User);
    return error.what();
  }
  ADD_FAILURE() << "the signature was accepted";
  return "";
}

}  // namespace ferrule
