// The function that the page calls.
#include "answer.hpp"

#include <emscripten.h>

/// The text stays until the next call.
extern "C" EMSCRIPTEN_KEEPALIVE char const* xgrad_answer(char const* formula, char const* inputs) {
    static std::string text;
    text = playground::answer(formula, inputs);
    return text.c_str();
}
