#define XGRAD_IMPLEMENTATION
#include <xgrad/optim.hpp>
