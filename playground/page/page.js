// Asks xgrad for value, gradients and graph after each change, and shows them.
"use strict";

(() => {
    const examples = ["sin(x) * x + y", "exp(-x^2/2) / sqrt(2pi)", "abs2(z - w)", "real(exp(i*z) * conj(z))", "z^2 + 1/z", "sqrt(x^2 + y^2)"];
    const byId = id => document.getElementById(id);
    const formula = byId("formula"), variables = byId("variables"), message = byId("message"), result = byId("result");
    const inputs = new Map();   // name: {kind, value}, also of variables that the formula has no more
    let ask = null;

    // A number of an answer, with so many digits: "1.5", or "1 - 2i".
    function show(number, digits) {
        const short = text => {
            const x = Number(text);
            return Number.isFinite(x) ? String(Number(x.toPrecision(digits))) : text.replace("inf", "infinity");
        };
        if (number.length === 1) return short(number[0]);
        const im = short(number[1]);
        return short(number[0]) + (im.startsWith("-") ? " - " + im.slice(1) : " + " + im) + "i";
    }

    function row(name) {
        const line = document.createElement("div");
        line.className = "variable";
        const label = document.createElement("label"), value = document.createElement("input"), kind = document.createElement("select");
        label.textContent = name + " =";
        label.htmlFor = value.id = "value-" + name;
        value.type = "text";
        value.spellcheck = false;
        value.autocapitalize = "off";
        value.setAttribute("aria-describedby", "message");
        kind.setAttribute("aria-label", "kind of " + name);
        for (const each of ["real", "complex"]) kind.add(new Option(each, each));
        value.value = inputs.get(name).value;
        kind.value = inputs.get(name).kind;
        value.addEventListener("input", () => { inputs.get(name).value = value.value; update(); });
        kind.addEventListener("change", () => { inputs.get(name).kind = kind.value; update(); });
        line.append(label, value, kind);
        return line;
    }

    function showVariables(list) {
        const names = list.map(variable => variable.name), shown = [...variables.querySelectorAll("input")].map(field => field.id.slice(6));
        for (const {name, kind, value} of list)
            if (!inputs.has(name)) inputs.set(name, {kind, value});
        if (names.join() !== shown.join()) {
            for (const old of variables.querySelectorAll(".variable")) old.remove();
            variables.append(...names.map(row));
        }
        variables.hidden = names.length === 0;
    }

    function showError(answer) {
        const fields = [formula, ...variables.querySelectorAll("input")];
        for (const field of fields) field.removeAttribute("aria-invalid");
        message.replaceChildren();
        result.classList.toggle("stale", Boolean(answer.error));
        if (!answer.error) return;
        const field = answer.of ? byId("value-" + answer.of) : formula;
        field.setAttribute("aria-invalid", "true");
        const text = Array.from(field.value), place = document.createElement("span"), mark = document.createElement("mark");
        place.className = "place";
        mark.textContent = text[answer.position] ?? " ";
        place.append(text.slice(0, answer.position).join(""), mark, text.slice(answer.position + 1).join(""));
        message.append((answer.of ? answer.of + ": " : "") + answer.error, place);
    }

    function showResult(answer) {
        byId("value").textContent = show(answer.value, 12);
        byId("gradients").tBodies[0].replaceChildren(...answer.gradients.map(gradient => {
            const line = document.createElement("tr");
            for (const text of [gradient.of, gradient.variable, show(gradient.value, 12), show(gradient.differences, 8)])
                line.insertCell().textContent = text;
            return line;
        }));
        byId("gradients").hidden = answer.gradients.length === 0;
        const isComplex = answer.value.length === 2, notNumbers = [answer.value, ...answer.gradients.map(gradient => gradient.value)].flat();
        byId("convention").hidden = !isComplex && answer.variables.every(variable => variable.kind === "real");
        byId("of-what").textContent = isComplex ? " of Re f" : "";
        byId("note").textContent = answer.gradients.length === 0 ? "There is no variable, and so no gradient." :
            !notNumbers.some(text => text.includes("nan")) ? "" :
            isComplex ? "nan is not a number: the formula has no value or no gradient here." :
            "nan is not a number: the formula has no value or no gradient here. Roots and logarithms of negative numbers need a complex variable.";
        byId("graph").replaceChildren(drawGraph(answer.graph, show));
        result.hidden = false;
    }

    function update() {
        if (!ask) return;
        const lines = [...inputs].map(([name, {kind, value}]) => `${name} ${kind} ${value}\n`).join("");
        const answer = JSON.parse(ask(formula.value, lines));
        if (!answer.error || answer.variables.length > 0) showVariables(answer.variables);
        showError(answer);
        if (!answer.error) showResult(answer);
    }

    for (const example of examples) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = example;
        button.addEventListener("click", () => { formula.value = example; update(); });
        byId("examples").append(button);
    }
    formula.addEventListener("input", update);
    byId("form").addEventListener("submit", event => event.preventDefault());

    createXgrad().then(module => {
        ask = module.cwrap("xgrad_answer", "string", ["string", "string"]);
        update();
        document.body.dataset.ready = "true";
    }, () => { message.textContent = "This browser cannot run the page: it needs WebAssembly with exceptions."; });
})();
