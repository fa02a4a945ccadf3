#pragma once
#include "ferrule/rt/ops.h"
