#include <xgrad/xgrad.hpp>

#define XGRAD_IMPLEMENTATION
#include <xgrad/linalg.hpp>
