// Draws a recorded graph as SVG: layers from the leaves down to the result.
"use strict";

const drawGraph = (() => {
    const letter = 7.3, line = 16, gap = 24, layerGap = 40, longest = 30;

    const element = (name, attributes, ...children) => {
        const made = document.createElementNS("http://www.w3.org/2000/svg", name);
        for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
        made.append(...children);
        return made;
    };
    const shortened = text => text.length > longest ? text.slice(0, longest - 1) + "…" : text;

    // The layer of a vertex is the length of the longest path from it to the result, which is vertex 0.
    function layersOf(count, edges) {
        const layer = new Array(count).fill(0);
        for (let changed = true; changed;) {
            changed = false;
            for (const [from, to] of edges)
                if (layer[from] <= layer[to]) { layer[from] = layer[to] + 1; changed = true; }
        }
        return layer;
    }

    function boxOf(vertex, show) {
        const lines = [[shortened(vertex.text || vertex.node), "text"]];
        if (vertex.kind === "step") lines.push([vertex.node, "node"]);
        if (vertex.value) lines.push(["= " + show(vertex.value, 6), "number"]);
        if (vertex.gradient) lines.push(["gradient " + show(vertex.gradient, 6), "number"]);
        const width = Math.max(...lines.map(([text]) => text.length)) * letter + 20;
        return {vertex, lines, width, height: lines.length * line + 12, up: [], down: []};
    }

    // An edge over several layers has a bend in each layer that it crosses: a box that nobody sees, as high as the layer.
    function place(graph, show) {
        const layer = layersOf(graph.vertices.length, graph.edges);
        const boxes = graph.vertices.map(vertex => boxOf(vertex, show));
        const rows = Array.from({length: Math.max(...layer) + 1}, () => []);
        boxes.forEach((box, i) => rows[layer[i]].push(box));
        const paths = graph.edges.map(([from, to]) => {
            const path = [boxes[from]];
            for (let at = layer[from] - 1; at > layer[to]; --at) {
                const bend = {width: 8, isBend: true, height: 0, up: [], down: []};
                rows[at].push(bend);
                path.push(bend);
            }
            path.push(boxes[to]);
            for (let i = 1; i < path.length; ++i) {
                path[i - 1].down.push(path[i]);
                path[i].up.push(path[i - 1]);
            }
            return path;
        });
        rows.reverse();

        const spread = row => {
            const width = row.reduce((sum, box) => sum + box.width, 0) + gap * (row.length - 1);
            let x = -width / 2;
            for (const box of row) {
                box.x = x + box.width / 2;
                x += box.width + gap;
            }
        };
        rows.forEach(spread);
        for (let sweep = 0; sweep < 8; ++sweep) {
            const side = sweep % 2 ? "down" : "up";
            for (const row of sweep % 2 ? [...rows].reverse() : rows) {
                for (const box of row)
                    box.wish = box[side].length ? box[side].reduce((sum, other) => sum + other.x, 0) / box[side].length : box.x;
                row.sort((a, b) => a.wish - b.wish);
                spread(row);
            }
        }
        let y = gap / 2;
        for (const row of rows) {
            const height = Math.max(...row.map(box => box.height));
            for (const box of row) {
                box.y = y + height / 2;
                if (box.isBend) box.height = height;
            }
            y += height + layerGap;
        }
        const all = rows.flat();
        const left = Math.min(...all.map(box => box.x - box.width / 2)) - gap / 2;
        for (const box of all) box.x -= left;
        return {boxes, paths, width: Math.max(...all.map(box => box.x + box.width / 2)) + gap / 2, height: y - layerGap + gap / 2};
    }

    function curve(path) {
        let text = "";
        path.forEach((box, i) => {
            if (i === 0) text = `M${box.x} ${box.y + box.height / 2}`;
            else {
                const before = path[i - 1], from = before.y + before.height / 2, to = box.y - box.height / 2 - (i + 1 === path.length ? 3 : 0);
                const middle = (from + to) / 2;
                text += ` C${before.x} ${middle} ${box.x} ${middle} ${box.x} ${to}`;
                if (box.isBend) text += ` V${to + box.height}`;
            }
        });
        return text;
    }

    /// `show(number, digits)` writes a number of the answer.
    return (graph, show) => {
        const {boxes, paths, width, height} = place(graph, show);
        const names = graph.vertices.map(vertex => vertex.text || vertex.node);
        const svg = element("svg", {
            width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
            "aria-label": graph.edges.map(([from, to]) => `${names[from]} to ${names[to]}`).join(", ") || names.join(", "),
        });
        svg.append(element("defs", {}, element("marker",
            {id: "arrow", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto"},
            element("path", {d: "M0 0 L8 4 L0 8 z"}))));
        for (const path of paths) svg.append(element("path", {class: "edge", d: curve(path), "marker-end": "url(#arrow)"}));
        for (const {vertex, lines, x, y, width: w, height: h} of boxes) {
            const group = element("g", {class: vertex.kind},
                element("title", {}, [vertex.text, vertex.node].filter(Boolean).join(": ")),
                element("rect", {x: x - w / 2, y: y - h / 2, width: w, height: h, rx: 6}));
            lines.forEach(([text, kind], i) => group.append(element("text",
                {class: kind, x, y: y - h / 2 + 18 + i * line, "text-anchor": "middle"}, text)));
            svg.append(group);
        }
        return svg;
    };
})();
