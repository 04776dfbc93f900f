// NIST's 27 problems of nonlinear regression, which nist.txt has: models, both starting points, and
// what is certified. For tests and benchmarks.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <vector>

namespace nist {

using std::atan, std::cos, std::exp, std::pow, std::sin; // of predictors that are numbers

/// Models y(b, x) of parameters b(i) and predictors x(k): T is what they compute, X a predictor:
/// tensors both, or numbers that know their derivatives, and double.
template <class T, class X, class Parameters, class Predictors> struct Models {
    using P = Parameters;
    using Model = std::function<T(P const&, Predictors const&)>;

    static T square(T const& z) { return z * z; }
    static T rational(P const& b, X const& x) {
        X const x2 = x * x, x3 = x2 * x;
        return (b(0) + b(1) * x + b(2) * x2 + b(3) * x3) / (1. + b(4) * x + b(5) * x2 + b(6) * x3);
    }
    static T gauss(P const& b, X const& x) {
        return b(0) * exp(-b(1) * x) + b(2) * exp(-square((x - b(3)) / b(4))) +
               b(5) * exp(-square((x - b(6)) / b(7)));
    }
    static T lanczos(P const& b, X const& x) {
        return b(0) * exp(-b(1) * x) + b(2) * exp(-b(3) * x) + b(4) * exp(-b(5) * x);
    }
    static T misra1a(P const& b, X const& x) { return b(0) * (1. - exp(-b(1) * x)); }
    static T chwirut(P const& b, X const& x) { return exp(-b(0) * x) / (b(1) + b(2) * x); }
    /// A model of one predictor.
    template <class F> static Model of(F f) {
        return [f](P const& b, Predictors const& x) { return T(f(b, X(x(0)))); };
    }

    std::map<std::string, Model> all{
        {"Bennett5",
            of([](P const& b, X const& x) -> T { return b(0) * pow(b(1) + x, -1. / b(2)); })},
        {"BoxBOD", of(misra1a)},
        {"Chwirut1", of(chwirut)},
        {"Chwirut2", of(chwirut)},
        {"DanWood", of([](P const& b, X const& x) -> T { return b(0) * pow(x, b(1)); })},
        {"ENSO", of([](P const& b, X const& x) -> T {
             X const t = 2 * std::numbers::pi * x, year = t / 12.;
             T const first = t / b(3), second = t / b(6);
             return b(0) + b(1) * cos(year) + b(2) * sin(year) + b(4) * cos(first) +
                    b(5) * sin(first) + b(7) * cos(second) + b(8) * sin(second);
         })},
        {"Eckerle4", of([](P const& b, X const& x) -> T {
             return b(0) / b(1) * exp(-0.5 * square((x - b(2)) / b(1)));
         })},
        {"Gauss1", of(gauss)},
        {"Gauss2", of(gauss)},
        {"Gauss3", of(gauss)},
        {"Hahn1", of(rational)},
        {"Kirby2", of([](P const& b, X const& x) -> T {
             return (b(0) + b(1) * x + b(2) * x * x) / (1. + b(3) * x + b(4) * x * x);
         })},
        {"Lanczos1", of(lanczos)},
        {"Lanczos2", of(lanczos)},
        {"Lanczos3", of(lanczos)},
        {"MGH09", of([](P const& b, X const& x) -> T {
             return b(0) * (x * x + x * b(1)) / (x * x + x * b(2) + b(3));
         })},
        {"MGH10", of([](P const& b, X const& x) -> T { return b(0) * exp(b(1) / (x + b(2))); })},
        {"MGH17", of([](P const& b, X const& x) -> T {
             return b(0) + b(1) * exp(-x * b(3)) + b(2) * exp(-x * b(4));
         })},
        {"Misra1a", of(misra1a)},
        {"Misra1b", of([](P const& b, X const& x) -> T {
             return b(0) * (1. - pow(1. + b(1) * x / 2., -2.));
         })},
        {"Misra1c", of([](P const& b, X const& x) -> T {
             return b(0) * (1. - pow(1. + 2. * b(1) * x, -0.5));
         })},
        {"Misra1d",
            of([](P const& b, X const& x) -> T { return b(0) * b(1) * x / (1. + b(1) * x); })},
        {"Nelson",
            [](P const& b, Predictors const& x) -> T {
                return b(0) - b(1) * X(x(0)) * exp(-b(2) * X(x(1)));
            }},
        {"Rat42",
            of([](P const& b, X const& x) -> T { return b(0) / (1. + exp(b(1) - b(2) * x)); })},
        {"Rat43", of([](P const& b, X const& x) -> T {
             return b(0) / pow(1. + exp(b(1) - b(2) * x), 1. / b(3));
         })},
        {"Roszman1", of([](P const& b, X const& x) -> T {
             return b(0) - b(1) * x - atan(b(2) / (x - b(3))) / std::numbers::pi;
         })},
        {"Thurber", of(rational)},
    };
};

struct Problem {
    std::string name, level;
    std::vector<double> start[2], certified, deviation;
    double squares = 0;
    std::size_t predictors = 0;
    std::vector<double> x, y; // x has a row for each predictor
};

inline std::vector<Problem> read_problems() {
    std::ifstream file(std::filesystem::path(__FILE__).parent_path() / "nist.txt");
    std::vector<Problem> all;
    for (std::string line; std::getline(file, line) && !line.empty();) {} // what the file is
    Problem p;
    for (std::size_t rows, parameters;
         file >> p.name >> p.level >> rows >> p.predictors >> parameters;) {
        std::vector<double>* const columns[] = {
            &p.start[0], &p.start[1], &p.certified, &p.deviation};
        for (auto* column : columns) column->assign(parameters, 0);
        for (std::size_t i = 0; i < parameters; ++i)
            for (auto* column : columns) file >> (*column)[i];
        file >> p.squares;
        p.x.resize(rows * p.predictors);
        p.y.resize(rows);
        for (std::size_t i = 0; i < rows; ++i) {
            file >> p.y[i];
            for (std::size_t k = 0; k < p.predictors; ++k) file >> p.x[k * rows + i];
        }
        if (p.name == "Nelson")
            for (double& v : p.y) v = std::log(v);
        all.push_back(p);
    }
    return all;
}

constexpr double certified_digits = 11; // of each value
/// The number of digits that agree, by NIST's definition; those that are certified at most.
inline double digits(double x, double value) {
    double const error = std::abs(x - value) / std::abs(value);
    return error > 0 ? std::min(-std::log10(error), certified_digits)
                     : (error == 0 ? certified_digits : 0);
}

} // namespace nist
