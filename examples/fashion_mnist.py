# SPDX-License-Identifier: Apache-2.0
"""Trains the deep tutorial network on Fashion-MNIST: two 5x5 convolutions with max pooling, 1024 hidden units, dropout, softmax, Adam.

Ends with the accuracy on the test images, a checkpoint, and a picture of the loss and of 25 test images with what the network says they
are. --resume goes on from the checkpoint and gives, bit for bit, what an uninterrupted run gives: all that is random in a step (its
images, the units that dropout removes) is drawn from the seed and the step's number alone. Ctrl-C finishes the step and saves.

Any data set in MNIST's file format will do (--data DIR): plain or gzipped IDX files, square or not, 1 byte a pixel.
The file runs on TensorFlow as well, with the import below changed to `import tensorflow.compat.v1 as tf`.
"""
import argparse
import gzip
import os
import signal
import sys
import time

import numpy as np
import headrace as tf

DEBIAN = "/usr/share/datasets/fashion-mnist"
NAMES = ["T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"]
KEEP = 0.5  # of the hidden units, in training


# --- data -----------------------------------------------------------------------------------------------------------------------------
def read_idx(folder, name):
    """The array in an IDX file: 0, 0, type (8: bytes), rank, the sizes as big-endian 32-bit numbers, the elements."""
    path = os.path.join(folder, name)
    opener = open if os.path.exists(path) else gzip.open
    try:
        with opener(path if opener is open else path + ".gz", "rb") as f:
            data = f.read()
    except OSError as e:
        raise SystemExit("cannot read %s[.gz]: %s\n--data DIR names a folder with the four IDX files; Debian: apt install dataset-fashion-mnist"
                         % (path, e.strerror or e))
    rank = data[3] if data[:3] == b"\0\0\x08" else 0
    shape = np.frombuffer(data[:4 + 4 * rank][4:], ">u4").astype(int)
    if not rank or len(data) != 4 + 4 * rank + shape.prod():
        raise SystemExit("%s is not a whole IDX file of bytes" % path)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def load(folder, part, limit=None):
    """(images as float32 in 0..1, labels as int64) of part "train" or "t10k"."""
    images, labels = read_idx(folder, part + "-images-idx3-ubyte"), read_idx(folder, part + "-labels-idx1-ubyte")
    if images.ndim != 3 or len(images) != len(labels):
        raise SystemExit("%s: %s images and %s labels do not belong together" % (folder, images.shape, labels.shape))
    return images[:limit, :, :, None].astype(np.float32) / 255, labels[:limit].astype(np.int64)


# --- network --------------------------------------------------------------------------------------------------------------------------
class Network:
    """The graph: what is fed (images, labels, noise), what is fetched (loss, accuracy, predictions) and the training step."""

    def __init__(self, height, width, classes, rate, per_epoch, seed):
        self.seed, self.made = seed, 0
        self.images = tf.placeholder(tf.float32, [None, height, width, 1], "images")
        self.labels = tf.placeholder(tf.int64, [None], "labels")
        h = self.convolution(self.images, 1, 32)
        h = self.convolution(h, 32, 64)
        size = -(-height // 4) * -(-width // 4) * 64  # two poolings, rounded up
        h = tf.nn.relu(self.dense(tf.reshape(h, [-1, size]), size, 1024, "hidden"))
        # Dropout with its noise from outside: a unit is dropped where the noise is not below KEEP. Not fed, nothing is dropped.
        self.noise = tf.placeholder_with_default(tf.zeros([1, 1]), [None, None], "noise")
        self.scale = tf.placeholder_with_default(tf.constant(1.0), [], "scale")
        h = h * tf.cast(self.noise < KEEP, tf.float32) * self.scale
        logits = self.dense(h, 1024, classes, "logits")

        self.probabilities = tf.nn.softmax(logits, name="probabilities")
        self.predictions = tf.argmax(logits, 1, name="predictions")
        hits = tf.cast(tf.equal(self.predictions, self.labels), tf.float32)
        self.hits = tf.reduce_sum(hits)
        self.accuracy = tf.reduce_mean(hits, name="accuracy")
        self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=logits), name="loss")
        self.step = tf.train.get_or_create_global_step()
        warm = tf.minimum(1.0, (tf.cast(self.step, tf.float32) + 1.0) / 300.0)  # up to the full rate in 300 steps
        self.rate = warm * tf.train.exponential_decay(rate, self.step, per_epoch, 0.5)
        self.train = tf.train.AdamOptimizer(self.rate).minimize(self.loss, self.step)

    def variables(self, shape, inputs, name):
        """Weights scaled so that signals keep their size through a layer of relus, and slightly positive biases."""
        self.made += 1
        weights = tf.truncated_normal(shape, stddev=(2.0 / inputs) ** 0.5, seed=1000 * self.seed + self.made)
        return tf.Variable(weights, name=name + "/weights"), tf.Variable(tf.fill([shape[-1]], 0.1), name=name + "/biases")

    def convolution(self, x, inputs, outputs):
        w, b = self.variables([5, 5, inputs, outputs], 25 * inputs, "conv%d" % (self.made + 1))
        h = tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME") + b)
        return tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    def dense(self, x, inputs, outputs, name):
        w, b = self.variables([inputs, outputs], inputs, name)
        return tf.matmul(x, w) + b

    def feed(self, images, labels, step):
        """What training step number `step` is fed: depends on the seed and the step alone."""
        noise = np.random.default_rng([self.seed, 1, step]).random((len(images), 1024), np.float32)
        return {self.images: images, self.labels: labels, self.noise: noise, self.scale: 1 / KEEP}


def test_accuracy(session, net, images, labels, batch=500):
    hits = sum(session.run(net.hits, {net.images: images[k:k + batch], net.labels: labels[k:k + batch]}) for k in range(0, len(images), batch))
    return float(hits) / len(images)


# --- training -------------------------------------------------------------------------------------------------------------------------
class Stop:
    """Notes the first Ctrl-C, so that the step at work ends whole; the second one interrupts as usual."""

    def __init__(self):
        self.wanted = False
        self.old = signal.signal(signal.SIGINT, self.note)

    def note(self, number, frame):
        self.wanted = True
        signal.signal(signal.SIGINT, self.old)


class Progress:
    """A tqdm bar an epoch: step, loss and accuracy (averaged over about the last 50 steps), images per second."""

    def __init__(self, epoch, epochs, images, done, batch, step):
        from tqdm import tqdm
        self.batch, self.step, self.loss, self.accuracy = batch, step, None, None
        form = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_fmt}{postfix}]"
        self.bar = tqdm(total=images, initial=done, desc="epoch %d/%d" % (epoch + 1, epochs), unit=" images", bar_format=form, dynamic_ncols=True,
                        mininterval=0.2)

    def add(self, loss, accuracy):
        self.step += 1
        self.loss = loss if self.loss is None else 0.98 * self.loss + 0.02 * loss
        self.accuracy = accuracy if self.accuracy is None else 0.98 * self.accuracy + 0.02 * accuracy
        self.bar.set_postfix_str("step %d, loss %.3f, accuracy %.3f" % (self.step, self.loss, self.accuracy), refresh=False)
        self.bar.update(self.batch)

    def close(self):
        self.bar.close()


def train(session, net, images, labels, a, losses, save):
    """Runs the steps that are left, from where the session's variables stand. True when it came to the end."""
    per_epoch = len(images) // a.batch
    last = min(per_epoch * a.epochs, a.steps or per_epoch * a.epochs)
    step, stop, order, bar = int(session.run(net.step)), Stop(), None, None
    try:
        while step < last and not stop.wanted:
            epoch, at = divmod(step, per_epoch)
            if order is None or at == 0:
                order = np.random.default_rng([net.seed, 0, epoch]).permutation(len(images))
                bar = Progress(epoch, a.epochs, per_epoch * a.batch, at * a.batch, a.batch, step)
            chosen = order[at * a.batch:(at + 1) * a.batch]
            _, loss, accuracy = session.run([net.train, net.loss, net.accuracy], net.feed(images[chosen], labels[chosen], step))
            losses.append(float(loss))
            step += 1
            bar.add(loss, accuracy)
            if step % per_epoch == 0:
                bar.close()
                save(step)
    finally:
        signal.signal(signal.SIGINT, stop.old)
        if bar:
            bar.close()
    if step % per_epoch:
        save(step)
    return step >= last


# --- the losses so far, beside the checkpoint that they belong to ------------------------------------------------------------------------
def write_losses(path, losses):
    with open(path + ".part", "w") as f:
        f.writelines("%r\n" % x for x in losses)
    os.replace(path + ".part", path)


def read_losses(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [float(line) for line in f]


# --- picture --------------------------------------------------------------------------------------------------------------------------
def draw(path, losses, images, labels, predictions, names, accuracy):
    try:
        import matplotlib
    except ImportError:
        print("no picture: matplotlib is not installed")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    ink, good, bad = "#333333", "#2a6f4e", "#c0392b"
    plt.rcParams.update({"font.size": 9, "text.color": ink, "axes.labelcolor": ink, "xtick.color": ink, "ytick.color": ink})
    figure = plt.figure(figsize=(14, 7.4), dpi=110, facecolor="white")
    figure.suptitle("%d training steps, %.2f %% of all test images right; here the first %d" % (len(losses), 100 * accuracy, len(images)),
                    fontsize=14, y=0.975)

    left = figure.add_axes([0.055, 0.09, 0.385, 0.80])
    steps = np.arange(1, len(losses) + 1)
    left.plot(steps, losses, color="#b9cde4", linewidth=0.6, label="each step")
    window = min(50, len(losses) // 2)
    if window > 1:
        smooth = np.convolve(losses, np.ones(window) / window, "valid")
        left.plot(steps[window - 1:], smooth, color="#1f4e8c", linewidth=1.8, label="mean of %d steps" % window)
    left.set(xlabel="training step", ylabel="loss (cross entropy)", xlim=(0, len(losses) + 1), ylim=(0, max(1.05, 2 * float(np.median(losses)))))
    left.grid(True, color="#eeeeee", linewidth=0.8)
    left.spines[["top", "right"]].set_visible(False)
    left.legend(frameon=False)

    grid = figure.add_gridspec(5, 5, left=0.475, right=0.985, bottom=0.035, top=0.885, wspace=0.08, hspace=0.42)
    for k in range(min(25, len(images))):
        axes, right = figure.add_subplot(grid[k // 5, k % 5]), predictions[k] == labels[k]
        axes.imshow(images[k, :, :, 0], cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        for spine in axes.spines.values():
            spine.set(color="#d5d5d5" if right else bad, linewidth=0.8 if right else 2.5)
        text = names[predictions[k]] if right else "%s, is %s" % (names[predictions[k]], names[labels[k]])
        axes.set_title(("\u2713 " if right else "\u2717 ") + text, color=good if right else bad, fontsize=8.5 if right else 7.5, pad=4, fontweight="normal" if right else "bold")
    figure.savefig(path)
    plt.close(figure)
    print("picture     %s" % path)


# --- command --------------------------------------------------------------------------------------------------------------------------
def arguments(argv):
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="\n\n".join(__doc__.split("\n\n")[1:]),
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", metavar="DIR", default=DEBIAN, help="folder with {train,t10k}-{images-idx3,labels-idx1}-ubyte[.gz] (%(default)s)")
    p.add_argument("--out", metavar="DIR", default=".", help="where the checkpoint (DIR/checkpoints) and fashion_mnist.png go (here)")
    p.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out; give the same --batch and --seed as before")
    p.add_argument("--epochs", type=int, default=3, metavar="N", help="times through the training images (%(default)s)")
    p.add_argument("--steps", type=int, metavar="N", help="stop after N steps in all, sooner than --epochs says")
    p.add_argument("--batch", type=int, default=64, metavar="N", help="images a step (%(default)s)")
    p.add_argument("--rate", type=float, default=1.5e-3, metavar="X", help="learning rate, reached after 300 steps and halved over each epoch (%(default)s)")
    p.add_argument("--seed", type=int, default=1, metavar="N", help="of initial values, order and dropout (%(default)s)")
    p.add_argument("--limit", type=int, metavar="N", help="take only the first N training and test images")
    p.add_argument("--no-picture", action="store_true", help="do not draw fashion_mnist.png")
    return p.parse_args(argv)


def main(argv=None):
    a = arguments(argv)
    images, labels = load(a.data, "train", a.limit)
    test_images, test_labels = load(a.data, "t10k", a.limit)
    if not 0 < a.batch <= len(images) or a.epochs < 0 or a.seed < 0:
        raise SystemExit("--batch must be 1 to %d (the number of training images), --epochs and --seed not negative" % len(images))
    folder = os.path.join(a.out, "checkpoints")
    os.makedirs(folder, exist_ok=True)
    classes = int(max(labels.max(), test_labels.max())) + 1

    with tf.Graph().as_default(), tf.Session() as session:
        net = Network(images.shape[1], images.shape[2], max(classes, 10), a.rate, len(images) // a.batch, a.seed)
        saver, losses_path = tf.train.Saver(max_to_keep=2), os.path.join(folder, "losses.txt")
        losses = []
        if a.resume:
            latest = tf.train.latest_checkpoint(folder)
            if not latest:
                raise SystemExit("--resume: there is no checkpoint in %s" % folder)
            saver.restore(session, latest)
            losses = read_losses(losses_path)[:int(session.run(net.step))]
            print("resuming    %s" % latest)
        else:
            session.run(tf.global_variables_initializer())

        def save(step):
            write_losses(losses_path, losses)
            return saver.save(session, os.path.join(folder, "fashion_mnist"), global_step=step)

        began, before = time.perf_counter(), len(losses)
        finished = train(session, net, images, labels, a, losses, save)
        seconds = time.perf_counter() - began
        if len(losses) > before:
            print("training    %.1f s, %.0f images/s, loss %.4f" % (seconds, (len(losses) - before) * a.batch / seconds, np.mean(losses[-100:])))
        print("checkpoint  %s" % tf.train.latest_checkpoint(folder))
        if not finished:
            print("stopped at step %d: --resume goes on from there" % len(losses))
            return 130
        accuracy = test_accuracy(session, net, test_images, test_labels)
        print("accuracy    %.4f of %d test images" % (accuracy, len(test_images)))
        if not a.no_picture and losses:
            predictions = session.run(net.predictions, {net.images: test_images[:25]})
            names = NAMES if "fashion" in os.path.abspath(a.data) and classes <= 10 else [str(n) for n in range(classes)]
            draw(os.path.join(a.out, "fashion_mnist.png"), losses, test_images[:25], test_labels[:25], predictions, names, accuracy)
    return 0


if __name__ == "__main__":
    sys.exit(main())
