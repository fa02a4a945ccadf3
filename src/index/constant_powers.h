// Powers of constants with symbolic exponents, in sums; private to index/.
#pragma once

#include <vector>

#include "index/node.h"

namespace ferrule {

// A Pow atom whose base is a constant of magnitude >= 2.
bool is_constant_power(const Atom& atom);

// c * 2**i and 2**(i + k) overlap: terms that differ only in the constant parts of such exponents become one, with the
// coefficient's powers of the base moved into the exponent. Lowering to the smallest exponent is right because that
// power occurs in the sum, so its exponent is not negative.
// Terms without such powers pass through; the order of the result is not the canonical one.
std::vector<Term> join_constant_powers(const std::vector<Term>& terms);

}  // namespace ferrule
