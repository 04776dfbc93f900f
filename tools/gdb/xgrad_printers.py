"""Pretty-printers of gdb for xgrad: tensors with type, shape, first elements and place in the graph; Nodes with name, formula and
what they lead to.

In gdb:  source tools/gdb/xgrad_printers.py        or put that line into ~/.gdbinit, with the whole path

Everything is read from memory; no function of the program is called, so core dumps can be looked at, too.
"""

import re

import gdb
import gdb.printing

MOST_ELEMENTS = 8
MOST_EDGES = 8
DTYPES = [("bool", "bool", False), ("int64", "long", False), ("float32", "float", False), ("float64", "double", False),
          ("complex64", "float", True), ("complex128", "double", True)]


def text_of_view(view):
    """A std::string_view of libstdc++ or libc++."""
    names = {field.name for field in view.type.strip_typedefs().fields()}
    data, size = ("_M_str", "_M_len") if "_M_str" in names else ("__data_", "__size_")
    count = int(view[size])
    return view[data].string(length=count) if count else ""


def dims(value):
    """The numbers of an xgrad::Dims."""
    size = int(value["size_"])
    items = value["local_"] if size <= 4 else value["heap_"]
    return [int(items[i]) for i in range(size)]


def text_of_dims(numbers):
    return "[" + ", ".join(str(n) for n in numbers) + "]"


def type_and_shape(impl):
    return f"{DTYPES[int(impl['type']['dtype'])][0]} {text_of_dims(dims(impl['array']['shape']))}"


def text_of_number(value):
    kind = value.type.strip_typedefs().code
    if kind == gdb.TYPE_CODE_BOOL:
        return "true" if value else "false"
    return f"{float(value):.6g}" if kind == gdb.TYPE_CODE_FLT else str(int(value))


def elements(impl):
    """The first elements in row-major order, as text."""
    _, scalar, is_complex = DTYPES[int(impl["type"]["dtype"])]
    array = impl["array"]
    shape, strides = dims(array["shape"]), dims(array["strides"])
    count = 1
    for n in shape:
        count *= n
    width = 2 if is_complex else 1
    data = array["data"].reinterpret_cast(gdb.lookup_type(scalar).pointer())
    texts = []
    for i in range(min(count, MOST_ELEMENTS)):
        at, rest = 0, i
        for n, step in zip(reversed(shape), reversed(strides)):
            at += rest % n * step
            rest //= n
        parts = [text_of_number(data[at * width + part]) for part in range(width)]
        texts.append(parts[0] if not is_complex else parts[0] + ("" if parts[1].startswith("-") else "+") + parts[1] + "i")
    return ", ".join(texts + ["..."] * (count > MOST_ELEMENTS))


def formula(vertices):
    """The formula whose vertices lie one after the other, the root first: as Node::formula() writes it."""
    place, tensors = 0, 0

    def write():
        nonlocal place, tensors
        vertex = vertices[place]
        place += 1
        name = text_of_view(vertex["name"])
        if vertex["is_tensor"]:
            tensors += 1
            return chr(ord("a") + tensors - 1) if tensors <= 26 else f"x{tensors - 1}"
        if not name:
            return "number"
        return name + "(" + ", ".join(write() for _ in range(int(vertex["operands"]))) + ")"

    return write()


def name_and_formula(node):
    """What Node::name() and Node::formula() say, without calling them; for a Node of a class of one's own, its class."""
    kind = str(node.type.strip_typedefs().unqualified())
    bare = re.sub(r"<.*", "", kind).split("::")[-1]
    try:
        if bare == "FusedNode":
            kernels = node["plan_"]["table"]["kernels"]
            root, text = text_of_view(kernels["vertices"]["name"]) or "Alias", formula(kernels["vertices"])
            if node["sum_"]:
                root = text_of_view(node["sum_"]["name"])
                text = f"{root}({text})"
            return root + "Backward", text
        if bare == "ArraywiseNode":
            return re.sub(r"<.*", "", str(node.type.template_argument(0))).split("::")[-1] + "Backward", None
        if any(field.name == "name_" for field in node.type.fields()):
            return text_of_view(node["name_"]) + "Backward", None
    except (gdb.error, RuntimeError):
        pass                                            # another version of xgrad: the class says enough
    return re.sub("Node$", "Backward", bare), None


def describe_node(pointer):
    """A Node in a few words, by a pointer to it."""
    node = pointer.cast(pointer.dynamic_type).dereference()
    name, _ = name_and_formula(node)
    return f"{name} of {type_and_shape(node['leaf_'])}" if name == "AccumulateGrad" else name


class TensorPrinter:
    def __init__(self, value):
        self.impl = value["impl_"]["p_"]
        found = re.fullmatch(r"xgrad::Tensor<(.*)>", str(value.type.strip_typedefs().unqualified()))
        self.kind = "Tensor" if found else "AnyTensor"

    def to_string(self):
        impl = self.impl
        if not impl:
            return f"{self.kind}(undefined)"
        if not impl["array"]["storage"]["p_"]:
            return f"{self.kind}({type_and_shape(impl)}, no values)"
        text = f"{self.kind}({type_and_shape(impl)}: {elements(impl)}"
        if impl["grad_fn"]["p_"]:
            text += f", grad_fn={describe_node(impl['grad_fn']['p_'])}"
        elif impl["requires_grad"]:
            text += ", requires_grad=true"
        if impl["grad"]["p_"]:
            text += f", grad: {elements(impl['grad']['p_'])}"
        return text + ")"


class NodePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        pointer = self.value.address
        if pointer is None:
            return "Node"
        node = pointer.cast(pointer.dynamic_type).dereference()
        name, text = name_and_formula(node)
        if name == "AccumulateGrad":
            return describe_node(pointer)
        edges = []
        base = self.value.cast(gdb.lookup_type("xgrad::Node"))      # derived classes have edges_ of their own
        count = int(base["edge_count_"])
        for i in range(min(count, MOST_EDGES)):
            next_node = base["edges_"][i]["function"]["p_"]
            edges.append(describe_node(next_node) if next_node else "none")
        return f"{name}{' = ' + text if text else ''} -> [" + ", ".join(edges + ["..."] * (count > MOST_EDGES)) + "]"


class DimsPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return text_of_dims(dims(self.value))


class RefPrinter:
    """A shared pointer: what it points to."""

    def __init__(self, value):
        self.pointer = value["p_"]

    def to_string(self):
        if not self.pointer:
            return "null"
        if str(self.pointer.type.target().strip_typedefs()) == "xgrad::Node":
            return NodePrinter(self.pointer.dereference()).to_string()
        return str(self.pointer)


def is_node(kind):
    """True for xgrad::Node and classes derived from it."""
    if kind.code != gdb.TYPE_CODE_STRUCT:
        return False
    return kind.name == "xgrad::Node" or any(field.is_base_class and is_node(field.type.strip_typedefs()) for field in kind.fields())


class Printers(gdb.printing.PrettyPrinter):
    PATTERNS = [(re.compile(r"xgrad::(AnyTensor|Tensor<.*>)"), TensorPrinter), (re.compile(r"xgrad::Dims<.*>"), DimsPrinter),
                (re.compile(r"xgrad::detail::Ref<.*>"), RefPrinter)]

    def __init__(self):
        super().__init__("xgrad")

    def __call__(self, value):
        kind = value.type.strip_typedefs().unqualified()
        if kind.code != gdb.TYPE_CODE_STRUCT:
            return None
        for pattern, printer in self.PATTERNS:
            if kind.name and pattern.fullmatch(kind.name):
                return printer(value)
        return NodePrinter(value) if is_node(kind) else None


gdb.printing.register_pretty_printer(None, Printers(), replace=True)
