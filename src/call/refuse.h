// The sentences that tell why a call was refused. Cold: made only when an error is raised.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "call/frame.h"

namespace ferrule {

// The error for frame.mismatch; pointers and symbols of the frame are as far filled as binding came.
Error refusal(const CallPlan& plan, const Frame& frame);

// "(3, 4)", "(3,)", "()".
std::string tuple_text(const int64_t* values, int32_t count);

// "'x', 'n.id'", the names of a struct's fields.
std::string fields_text(const FrRecord& record);

}  // namespace ferrule
