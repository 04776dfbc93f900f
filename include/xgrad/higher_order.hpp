// Derivatives of third and higher order in a program of headers only: each of its files includes
// this header first. Other programs have what first and second derivatives take.
// Programs that link xgrad::compiled, or define XGRAD_SEPARATE_COMPILATION, need not include it.
#pragma once

#if defined(XGRAD_VERSION_MAJOR) && !XGRAD_HIGHER_ORDER
#    error "xgrad: include <xgrad/higher_order.hpp> before any other header of xgrad"
#endif
#ifndef XGRAD_HIGHER_ORDER
#    define XGRAD_HIGHER_ORDER 1
#endif

#include <xgrad/xgrad.hpp>
