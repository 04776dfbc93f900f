"""Just enough of C++'s lexical rules to tell a directive from text that looks like one."""

import re

_TOKEN = re.compile(
    r'''
      (?P<blank> //(?:\\\n|[^\n])*                                          # a comment, continued by a backslash or not
               | /\*.*?(?:\*/|\Z)
               | (?<!\w)(?:u8|[uUL])?R"(?P<end>[^()\\\s]{0,16})\(.*?\)(?P=end)" )
    | (?<!\w)\.?\d(?:'\w|[eEpP][+-]|[\w.])*                                 # a number: 1'000 opens no character
    | "(?:\\.|[^"\\\n])*"
    | '(?:\\.|[^'\\\n])*'
    ''',
    re.S | re.X)


def read(path):
    """The text of a file without byte-order mark and carriage returns, ending in a newline."""
    text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    return text if text.endswith("\n") or not text else text + "\n"


def name_of(path, include):
    """ops/a.hpp of include/xgrad/ops/a.hpp, and xgrad_distributed/b.hpp of include/xgrad_distributed/b.hpp."""
    return path.relative_to(include).as_posix().removeprefix("xgrad/")


def _is_comment(token):
    return token[0].startswith(("//", "/*"))


def _erase(token):
    return re.sub(r"[^\n]", " ", token[0])


def code(text):
    """The text with blanks for comments, strings and characters, at the same positions."""
    return _TOKEN.sub(lambda token: token[0] if token[0][0] in ".0123456789" else _erase(token), text)


def code_without_directives(text):
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", _erase, code(text), flags=re.M)


def comments(text):
    """The text with blanks for all but comments, at the same positions."""
    out, at = [], 0
    for token in filter(_is_comment, _TOKEN.finditer(text)):
        out += [re.sub(r"[^\n]", " ", text[at:token.start()]), token[0]]
        at = token.end()
    return "".join(out) + re.sub(r"[^\n]", " ", text[at:])


def directives(text):
    """(line index, name, rest) of every preprocessor directive; comments and raw strings hold none."""
    def blank(token):
        return re.sub(r"[^\n]", " ", token[0]) if token["blank"] else token[0]

    continued = False
    for index, line in enumerate(_TOKEN.sub(blank, text).split("\n")):
        directive = None if continued else re.match(r"\s*#\s*(\w+)\s*(.*?)\s*$", line)
        continued = line.endswith("\\")
        if directive:
            yield index, directive[1], directive[2]


def included(rest):
    """(name, is quoted) of what an #include names, or None where a macro names it."""
    match = re.match(r'(?:<([^>]+)>|"([^"]+)")', rest)
    return match and (match[1] or match[2], match[2] is not None)
