#include <xgrad/xgrad.hpp>

xgrad::Tensor<double> other(xgrad::Tensor<double> const& x) { return exp(x); }
