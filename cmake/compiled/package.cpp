#define XGRAD_IMPLEMENTATION
#include <xgrad/package.hpp>
