"""Requirements of programs and libraries on the system, read with binutils and the loader."""
import pathlib
import re
import subprocess


def glibc_needed(files):
    """Returns the newest version of glibc that a symbol of the files requires, as (2, 34)."""
    versions = set()
    for file in files:
        text = subprocess.run(["objdump", "-T", file], capture_output=True, text=True, check=True).stdout
        versions |= {tuple(map(int, v.split("."))) for v in re.findall(r"\(GLIBC_([0-9.]+)\)", text)}
    return max(versions)


def libraries_needed(file):
    """Returns the libraries that the file itself names."""
    text = subprocess.run(["objdump", "-p", file], capture_output=True, text=True, check=True).stdout
    return {pathlib.Path(name).name for name in re.findall(r"^ +NEEDED +(\S+)", text, re.M)}
