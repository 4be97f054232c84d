"""Makes PyPI's torch importable without the libraries of its GPU packages, which take gigabytes: creates libraries that contain
only the symbols that torch links to. Code that runs on CPUs is not affected.

    torch_stubs.py ENVIRONMENT      a virtual environment that contains torch; needs cc, nm and readelf
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

NO_DEVICE = 100  # the answer of CUDA without a GPU
GPU = re.compile(r'lib(cu|nccl|nv)')


def told(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True,
                          env={**os.environ, 'LC_ALL': 'C'}).stdout


def needed(library):
    """Returns the needed libraries, and for each symbol version the library that defines it."""
    versions, file = {}, ''
    for kind, name in re.findall(r'(File|Name): (\S+)', told('readelf', '-VW', library)):
        file = name if kind == 'File' else file
        versions[name] = file
    return re.findall(r'NEEDED.*\[(.*)\]', told('readelf', '-dW', library)), versions


def undefined(library):
    """Returns pairs of a symbol and its version, which can be empty."""
    for line in told('nm', '-D', '--undefined-only', '--with-symbol-versions', library).splitlines():
        name, _, version = line.split()[-1].partition('@')
        yield name, version.lstrip('@')


def make(stub, names):
    """Creates a library. `names`: the symbols, by version."""
    source, script = stub.with_suffix('.c'), stub.with_suffix('.map')
    source.write_text(''.join(f'long {name}(void) {{ return {NO_DEVICE}; }}\n'
                              for each in names.values() for name in sorted(each)))
    script.write_text(''.join(f'{version} {{ global: {"; ".join(sorted(each))}; }};\n'
                              for version, each in names.items() if version))
    versioned = [f'-Wl,--version-script={script}'] if script.stat().st_size else []
    subprocess.run(['cc', '-shared', '-fPIC', '-fno-builtin', '-w', f'-Wl,-soname,{stub.name}',
                    *versioned, '-o', stub, source], check=True)
    source.unlink()
    script.unlink()


def main():
    folder, = pathlib.Path(sys.argv[1]).glob('lib/python3*/site-packages/torch/lib')
    libraries = [path for path in sorted(folder.glob('*.so')) if not path.is_symlink()]
    there = {path.name for path in folder.iterdir()}
    names = collections.defaultdict(lambda: collections.defaultdict(set))
    unversioned = set()
    for library in libraries:
        files, versions = needed(library)
        for file in files:
            if GPU.match(file) and file not in there:
                names[file]  # creates an empty entry, so that a library without used symbols is created too
        for name, version in undefined(library):
            file = versions.get(version, '')
            if GPU.match(file) and file not in there:
                names[file][version].add(name)
            elif not version and re.match(r'cu|nccl|nv', name):
                unversioned.add(name)
    runtime, = (file for file in names if file.startswith('libcudart.'))
    names[runtime][''] |= unversioned  # any loaded library can define them, and this one is always loaded
    for file in names:
        make(folder / file, names[file])


main()
