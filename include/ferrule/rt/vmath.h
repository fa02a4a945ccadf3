// Every transcendental functor of the operation table, for callers that do not choose.
#pragma once

#include "ferrule/rt/exp_log.h"
#include "ferrule/rt/hyperbolic.h"
#include "ferrule/rt/power.h"
#include "ferrule/rt/trig.h"
