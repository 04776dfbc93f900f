// Bodies of anomaly.hpp.
#pragma once

#include <mutex>

#include <xgrad/autograd/anomaly.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY bool is_own(SourceLocation const& at) {
    std::string_view headers = __FILE__;
    if (std::string_view const here = "/autograd/anomaly.hpp"; headers.ends_with(here))
        headers.remove_suffix(here.size());
    return std::string_view(at.file_name()).starts_with(headers);
}

XGRAD_LAZY_BODY std::shared_ptr<Origin const> make_origin() {
    auto origin = std::make_shared<Origin>();
    if (auto const* const at = anomaly.location; at && !is_own(*at))
        origin->location = std::string(at->file_name()) + ":" + std::to_string(at->line()) +
                           ", in " + at->function_name();
    else origin->stack = call_stack();
    if (anomaly.running) {
        origin->parent_name = anomaly.running->name();
        if (auto const* const hooks = NodeHooks::of(*anomaly.running))
            origin->parent = hooks->origin;
    }
    return origin;
}

/// The text of an origin and of those that induced it. All call stacks are looked up at once.
XGRAD_LAZY std::string origin_text(Origin const& origin) {
    static std::mutex mutex; // of the texts in origins
    std::lock_guard const lock(mutex);
    std::vector<Origin const*> without_text;
    std::vector<std::vector<void*>> stacks;
    for (auto const* o = &origin; o; o = o->parent.get()) {
        if (o->text.empty()) o->text = o->location;
        if (!o->text.empty()) continue;
        without_text.push_back(o);
        stacks.push_back(o->stack);
    }
    if (!stacks.empty()) {
        auto texts = call_stack_texts(stacks);
        for (std::size_t i = 0; i < texts.size(); ++i) without_text[i]->text = std::move(texts[i]);
    }
    std::string text = " It was recorded at " + origin.text + ".";
    for (auto const* o = &origin; o && !o->parent_name.empty(); o = o->parent.get())
        text += " That was induced by the backward pass of " + o->parent_name +
                (o->parent ? ", which was recorded at " + o->parent->text : std::string()) + ".";
    return text;
}

/// An exception of which copies share the text.
template <class E> class ErrorAtOrigin : public E {
public:
    ErrorAtOrigin(std::string const& message, std::shared_ptr<Origin const> origin)
        : E(message), text_(std::make_shared<Text>()) {
        text_->origin = std::move(origin);
    }
    char const* what() const noexcept override {
        try {
            std::call_once(text_->composed,
                [this] { text_->whole = E::what() + origin_text(*text_->origin); });
            return text_->whole.c_str();
        } catch (...) { return E::what(); } // no memory for the text
    }

private:
    struct Text {
        std::shared_ptr<Origin const> origin;
        std::once_flag composed;
        std::string whole;
    };
    std::shared_ptr<Text> text_;
};

/// Throws E with the message and where the Node was recorded. The text is composed when what() is
/// first called: it may start addr2line.
template <class E>
[[noreturn, gnu::cold]] void fail_at_origin(std::string const& message, NodeHooks const* hooks) {
    if (!hooks || !hooks->origin) throw E(message);
    throw ErrorAtOrigin<E>(message, hooks->origin);
}

} // namespace xgrad::detail
