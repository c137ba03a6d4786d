// Byte code for the modules that a page imports, made by the very Python that will run it.
// node compile.mjs <folder of the parts> <folder to write to>; both archives come out the same each time.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [raw, made] = process.argv.slice(2).map((folder) => path.resolve(folder));
const { loadPyodide } = await import(pathToFileURL(path.join(raw, "pyodide.mjs")).href);
const python = await loadPyodide({ indexURL: raw + path.sep, packages: ["numpy"], stdout() {} });
const archives = fs.readdirSync(raw).filter((name) => /\.(zip|whl)$/.test(name));
for (const folder of ["/raw", "/made"]) python.FS.mkdir(folder);
for (const name of archives) python.FS.writeFile(`/raw/${name}`, fs.readFileSync(path.join(raw, name)));
python.runPython(`
import ast, collections, contextlib, copy, ctypes, dataclasses, functools, inspect, io, itertools, json, linecache
import math, mmap, operator, re, signal, statistics, struct, textwrap, threading, time, traceback, tracemalloc, types, typing, warnings
import importlib.util, marshal, os, sys, zipfile
import numpy, numpy.linalg, numpy.random, numpy.testing
from pyodide.code import eval_code

UNUSED = re.compile(
    r"(^|/)(tests?|f2py|distutils|_pyinstaller|include)/|/conftest\\.py$"
    r"|\\.(pyi|pxd|a|h|c|pyx|build|typed|f90|f)$"
)
imported = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
for name in os.listdir("/raw"):
    standard = name == "python_stdlib.zip"
    root = "/lib/python313.zip/" if standard else "/lib/python3.13/site-packages/"
    old = zipfile.ZipFile("/raw/" + name)
    with zipfile.ZipFile("/made/" + name, "w") as new:
        for file in sorted(old.namelist()):
            if file.endswith("/") or (not standard and UNUSED.search(file)):
                continue
            data = old.read(file)
            if root + file in imported and file.endswith(".py"):
                code = compile(data, root + file, "exec", dont_inherit=True)
                flags = (1).to_bytes(4, "little")  # known by its hash, and never compared with a source
                data = b"".join([
                    importlib.util.MAGIC_NUMBER, flags, importlib.util.source_hash(data), marshal.dumps(code),
                ])
                file += "c"
            new.writestr(zipfile.ZipInfo(file), data, zipfile.ZIP_DEFLATED, 9)
`);
for (const name of archives) fs.writeFileSync(path.join(made, name), python.FS.readFile(`/made/${name}`));
