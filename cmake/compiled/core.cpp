// What xgrad.hpp leaves out where XGRAD_SEPARATE_COMPILATION is defined: see base/config.hpp. The
// other files here add what the other headers leave out.
#define XGRAD_IMPLEMENTATION
#include <xgrad/xgrad.hpp>
