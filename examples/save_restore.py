# SPDX-License-Identifier: Apache-2.0
"""Saves variables, restores them in a new session, looks into the checkpoint, and restores graph and variables from the meta graph alone."""
import argparse
import os
import tempfile

import headrace as tf


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--folder", metavar="DIR", help="where the checkpoint goes (a temporary folder)")
    a = p.parse_args()
    folder = a.folder or tempfile.mkdtemp()
    with tf.Graph().as_default():
        v = tf.get_variable("v", [3], initializer=tf.zeros_initializer())
        step = tf.train.get_or_create_global_step()
        move = tf.group(v.assign_add([1.0, 2.0, 3.0]), step.assign_add(1))
        saver = tf.train.Saver(max_to_keep=2)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(move)
                path = saver.save(session, os.path.join(folder, "model"), global_step=step)
        print("saved %s; kept %s" % (os.path.basename(path), [os.path.basename(c) for c in saver.last_checkpoints]))
        with tf.Session() as session:
            saver.restore(session, tf.train.latest_checkpoint(folder))
            print("restored v = %s at step %d" % (session.run(v), session.run(step)))
    print("in the checkpoint: %s" % tf.train.list_variables(path))
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.restore(session, path)
        print("from the meta graph: v = %s" % session.run("v:0"))


if __name__ == "__main__":
    main()
