# SPDX-License-Identifier: Apache-2.0
"""tf.app.run: reads the flags, then runs main."""
import sys

from headrace import flags


def run(main=None, argv=None):
    try:
        rest = flags.FLAGS(sys.argv if argv is None else argv, known_only=True)
    except flags.Error as e:
        sys.stderr.write("FATAL Flags parsing error: %s\n%s\n" % (e, flags.FLAGS.get_help()))
        sys.exit(1)
    main = main or sys.modules["__main__"].main
    sys.exit(main(rest))
