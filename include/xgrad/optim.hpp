// Optimisers and learning rate schedules. Not part of xgrad.hpp, which a program without them compiles faster.
#pragma once

#include <xgrad/xgrad.hpp>
