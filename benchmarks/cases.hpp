// The names of the cases that are measured in more than one library: a name and its n say which
// times belong into one row.
#pragma once

#include <string>

namespace bench::name {

using Name = char const*;
inline constexpr Name rational = "sum(a*b + 0.5*a - b/(a+2))", sine_exp = "sum(sin(a)*b + exp(a))",
                      tanh_log = "sum(tanh(a*b) + log(1 + a*a))",
                      tanh_log_hvp = "Hessian * vector, tanh(a*b) + log(1 + a*a)",
                      choice = "sum(where(a > b, a*b, a - b))",
                      rosenbrock = "Rosenbrock's function, in slices";
inline constexpr Name sum_same = "sum(square(a + b)), same shape",
                      sum_row = "sum(square(a + b)), (m,n)+(n)",
                      product_same = "sum(square(a * b)), same shape",
                      product_column = "sum(square(a * b)), (m,n)*(m,1)",
                      bias = "x + b, (2000,60)+(60)";
inline constexpr Name logsumexp = "logsumexp(x)", prod = "prod(x)",
                      column_sums = "sum(square(sum(x, {0}))), (300,200)",
                      row_sums = "sum(square(sum(x, {1}))), (300,200)",
                      row_maxima = "sum(square(amax(x, {1}))), (300,200)",
                      transposed = "sum(square(transpose(x) + y))";
inline constexpr Name product = "sum(square(matmul(A, B)))",
                      complex_product = "sum(abs2(matmul(A, B))), complex",
                      perceptron = "MLP 784-128-10, batch 64, cross entropy";
inline constexpr Name normal = "normal log density, as one sum",
                      normal_hoisted = "normal log density, log(sigma) outside",
                      jacobian = "jacobian of residuals, 6 parameters",
                      hessian = "hessian of their squares, 6 parameters",
                      regression = "linear regression 1000 x 150: w, log sigma";
inline constexpr Name phase = "sum(abs2(exp(i*phi)*z - t))",
                      complex_tanh = "sum(abs2(tanh(z*w) - t))",
                      complex_misfit = "sum(abs2(matmul(A, z) - b)), for z";
inline constexpr Name convolution = "conv2d 64 -> 64, 3 x 3, on 28 x 28, float",
                      depthwise = "the same, each channel by itself";
inline constexpr Name convolutional = "digits: ConvNet, AdamW, float",
                      small_perceptron = "MLP 2-16-16-1, Adam, float",
                      characters = "characters: LSTM(64, 128) x 50, Adam, float",
                      equaliser = "equaliser: complex MLP 9-12-1, SGD";
inline constexpr Name recurrence = "x = x + dt*sin(x)*p, per step",
                      rows = "h = tanh(h + s(t)), per row of 100";

/// The name of a case in single precision.
inline std::string in_float(Name name) { return name + std::string(", float"); }
template <class Precision> std::string in(Name name) {
    return sizeof(Precision) == 4 ? in_float(name) : name;
}

} // namespace bench::name
