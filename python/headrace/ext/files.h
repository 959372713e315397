/* SPDX-License-Identifier: Apache-2.0 */
/* Files that Python looks into or writes directly: checkpoints and event files, as capsules. */
#ifndef HRPY_FILES_H
#define HRPY_FILES_H
#include "ext.h"

PyObject* hrpy_open_checkpoint(PyObject* self, PyObject* prefix);
PyObject* hrpy_checkpoint_entries(PyObject* self, PyObject* capsule);
PyObject* hrpy_checkpoint_read(PyObject* self, PyObject* args);
PyObject* hrpy_open_events(PyObject* self, PyObject* args);
PyObject* hrpy_events_add(PyObject* self, PyObject* args);
PyObject* hrpy_events_flush(PyObject* self, PyObject* capsule);
PyObject* hrpy_events_close(PyObject* self, PyObject* capsule);
PyObject* hrpy_events_path(PyObject* self, PyObject* capsule);
#endif
