# SPDX-License-Identifier: Apache-2.0
"""Every program in examples/ runs, quickly, on data made here in the format of MNIST, and says what it should."""
import gzip
import os
import re
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "..", "examples")
ENV = dict(os.environ, OMP_WAIT_POLICY="passive")  # tests share the machine: threads that wait do not spin


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """400 training and 100 test images: a bright square whose place is the class. One file is gzipped, the others are not."""
    folder, r = tmp_path_factory.mktemp("idx"), np.random.RandomState(0)
    for part, n in (("train", 400), ("t10k", 100)):
        labels = r.randint(0, 10, n).astype(np.uint8)
        images = r.randint(0, 60, (n, 28, 28)).astype(np.uint8)
        for image, label in zip(images, labels):
            image[4 + label // 5 * 12:12 + label // 5 * 12, label % 5 * 5:label % 5 * 5 + 6] = 250
        content = struct.pack(">4B3i", 0, 0, 8, 3, n, 28, 28) + images.tobytes()
        if part == "train":
            with gzip.open(str(folder / "train-images-idx3-ubyte.gz"), "wb") as f:
                f.write(content)
        else:
            (folder / "t10k-images-idx3-ubyte").write_bytes(content)
        (folder / (part + "-labels-idx1-ubyte")).write_bytes(struct.pack(">4Bi", 0, 0, 8, 1, n) + labels.tobytes())
    return str(folder)


def run(name, *arguments, cwd, fails=False):
    p = subprocess.run([sys.executable, os.path.join(EXAMPLES, name)] + list(arguments), capture_output=True, text=True, cwd=str(cwd), env=ENV, timeout=240)
    assert fails == (p.returncode != 0), p.stdout + p.stderr
    return p.stdout if not fails else p.stdout + p.stderr


def number(text, label):
    return float(re.search(label + r" +(-?[\d.]+)", text).group(1))


def test_hello(tmp_path):
    assert run("hello.py", cwd=tmp_path).splitlines() == ["Hello, Headrace!", "a + b = 5, a * b = 6", "matrix product: [[12.]]"]


def test_linear_regression(tmp_path):
    by_hand, built_in = run("linear_regression.py", "--epochs", "300", cwd=tmp_path).splitlines()
    assert by_hand.split("y =")[1] == built_in.split("y =")[1]
    assert number(by_hand, "cost") < 0.09


@pytest.mark.parametrize("more", [(), ("--by-hand",)])
def test_logistic_regression(tmp_path, data, more):
    assert number(run("logistic_regression.py", "--data", data, "--epochs", "20", "--batch", "50", *more, cwd=tmp_path), "accuracy") > 0.8


def test_mlp(tmp_path, data):
    assert number(run("mlp.py", "--data", data, "--epochs", "8", "--batch", "50", "--hidden", "64", cwd=tmp_path), "accuracy") > 0.8


def test_says_which_file_is_missing(tmp_path):
    assert run("mlp.py", "--data", "none", cwd=tmp_path, fails=True).startswith("cannot read none/train-images-idx3-ubyte[.gz]: ")
    assert run("csv_numpy.py", "--csv", "none.csv", cwd=tmp_path, fails=True).splitlines() == ["--csv none.csv: none.csv not found."]


def test_cnn_raw(tmp_path, data):
    assert number(run("cnn_raw.py", "--data", data, "--epochs", "5", "--batch", "50", cwd=tmp_path), "accuracy") > 0.5


def test_xor_tensorboard(tmp_path):
    assert "accuracy 1.00" in run("xor_tensorboard.py", "--steps", "600", "--logs", str(tmp_path / "logs"), cwd=tmp_path)
    (events,) = os.listdir(str(tmp_path / "logs"))
    content = (tmp_path / "logs" / events).read_bytes()
    assert events.startswith("events.out.tfevents.") and b"cost/cost" in content and b"layer1/w" in content


def test_save_restore(tmp_path):
    assert run("save_restore.py", "--folder", str(tmp_path), cwd=tmp_path).splitlines() == [
        "saved model-3; kept ['model-2', 'model-3']", "restored v = [3. 6. 9.] at step 3", "in the checkpoint: [('global_step', []), ('v', [3])]",
        "from the meta graph: v = [3. 6. 9.]"]


def test_csv_numpy(tmp_path):
    assert number(run("csv_numpy.py", "--epochs", "40", cwd=tmp_path), "held-out rows") > 0.9


# --- the demo --------------------------------------------------------------------------------------------------------------------------------
def demo(cwd, data, *arguments, **more):
    return run("fashion_mnist.py", "--data", data, "--batch", "40", "--no-picture", *arguments, cwd=cwd, **more)


def state(folder, step):
    from headrace import train
    reader = train.NewCheckpointReader(os.path.join(str(folder), "checkpoints", "fashion_mnist-%d" % step))
    with open(os.path.join(str(folder), "checkpoints", "losses.txt")) as f:
        return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}, f.read()


def test_demo_resumes_bit_for_bit(tmp_path, data):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    demo(tmp_path, data, "--out", str(whole), "--steps", "14")
    demo(tmp_path, data, "--out", str(parts), "--steps", "6")
    assert "resuming" in demo(tmp_path, data, "--out", str(parts), "--steps", "14", "--resume")
    (variables, losses), (again, losses_again) = state(whole, 14), state(parts, 14)
    assert losses == losses_again and len(losses.splitlines()) == 14
    assert len(variables) == 27 and sorted(variables) == sorted(again)
    for name, value in variables.items():
        np.testing.assert_array_equal(value, again[name], name)


def test_demo_stops_and_saves_on_interrupt(tmp_path, data):
    p = subprocess.Popen([sys.executable, os.path.join(EXAMPLES, "fashion_mnist.py"), "--data", data, "--batch", "40", "--epochs", "1000", "--no-picture"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=str(tmp_path), env=ENV)
    losses = tmp_path / "checkpoints" / "losses.txt"
    end = time.time() + 120
    while not losses.exists() and p.poll() is None and time.time() < end:
        time.sleep(0.05)
    p.send_signal(signal.SIGINT)
    out, err = (text.decode() for text in p.communicate(timeout=120))
    assert p.returncode == 130, out + err
    step = int(re.search(r"stopped at step (\d+): --resume goes on from there", out).group(1))
    variables, lines = state(tmp_path, step)
    assert variables["global_step"] == step and len(lines.splitlines()) == step


def test_demo_draws(tmp_path, data):
    out = run("fashion_mnist.py", "--data", data, "--batch", "40", "--epochs", "1", cwd=tmp_path)
    assert "accuracy" in out
    pytest.importorskip("matplotlib")
    assert (tmp_path / "fashion_mnist.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_demo_says_what_is_wrong(tmp_path, data):
    assert "--data DIR names a folder" in demo(tmp_path, str(tmp_path), fails=True)
    assert "there is no checkpoint" in demo(tmp_path, data, "--resume", fails=True)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "train-images-idx3-ubyte").write_bytes(b"\0\0\x08\x03 cut off")
    assert "not a whole IDX file" in demo(tmp_path, str(broken), fails=True)
    assert "Fashion-MNIST" in run("fashion_mnist.py", "--help", cwd=tmp_path)


def test_cluster_survives_a_killed_server(data, tmp_path):
    out = run("cluster/run.py", "--data", data, "--train_dir", str(tmp_path / "train"), "--steps", "80", "--batch", "16", "--save_secs", "1",
              "--every", "0.5", "--kill-one", "--accuracy", "0.5", cwd=tmp_path)
    assert "one task killed" in out and "-- started ps 1 again" in out
    for task in ("ps 0", "ps 1", "worker 0", "worker 1"):
        assert re.search(r"^%s " % task, out, re.M)
    assert re.search(r"worker 1 +step \d+, loss [0-9.]+, [0-9.]+ steps/s", out)
