// The precisions whose functions are measured against long double. MinGW-w64 computes these with
// less than the digits of double (its acosl, powl and sinl), emscripten some as those of double;
// where long double is double, nothing is left to measure with.
#pragma once

#if defined(__MINGW32__) || defined(_MSC_VER) || defined(__EMSCRIPTEN__) ||                        \
    __LDBL_MANT_DIG__ == __DBL_MANT_DIG__
#    define XGRAD_CHECKED_TYPES float
#else
#    define XGRAD_CHECKED_TYPES float, double
#endif
