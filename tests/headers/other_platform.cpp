// What is run with another standard library and on another processor: kernels, gradients, hooks and
// their order, second derivatives. The presets of `tools/test platforms` run more.
#include "../main.cpp"

#include "../graph/backward_test.cpp"
#include "../graph/hook_order_test.cpp"
#include "../graph/second_order_test.cpp"
#include "../simd/exp_log_test.cpp"
#include "../simd/width_test.cpp"
