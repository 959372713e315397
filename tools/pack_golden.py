#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the golden cases of our ops into tests/golden/ops.tar.xz: tools/pack_golden.py FOLDER (of <Op>.tfrecord files).

The ops are those of tests/golden/ops.txt and of src/manifest/ops.def; the archive is the same bytes for the same cases."""
import io, lzma, os, re, sys, tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def wanted_ops():
    with open(os.path.join(ROOT, "tests/golden/ops.txt")) as f:
        names = {name for line in f if not line.startswith("#") for name in line.split()}
    for folder, _, files in os.walk(os.path.join(ROOT, "src/manifest")):
        for name in files:
            if name.endswith(".def"):
                with open(os.path.join(folder, name)) as f:
                    names.update(re.findall(r"^\s*HR_\w*OP\w*\((\w+)", f.read(), re.M))
    return names


def main():
    source, wanted = sys.argv[1], wanted_ops()
    have = {f[:-len(".tfrecord")] for f in os.listdir(source) if f.endswith(".tfrecord")}
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for op in sorted(wanted & have):
            info = tarfile.TarInfo("ops/%s.tfrecord" % op)
            with open(os.path.join(source, op + ".tfrecord"), "rb") as f:
                data = f.read()
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    path = os.path.join(ROOT, "tests/golden/ops.tar.xz")
    with open(path, "wb") as f:
        f.write(lzma.compress(raw.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    print("%d ops, %d bytes; without golden cases: %s" % (len(wanted & have), os.path.getsize(path), " ".join(sorted(wanted - have))))


if __name__ == "__main__":
    main()
