/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C during a step. The interpreter only notes the signal and acts on it when the step returns: so a handler of ours, before the
 * interpreter's, wakes a thread that cancels the step under way in the main thread. The step fails with CANCELLED, and the interpreter
 * raises KeyboardInterrupt (or runs the script's own handler) as soon as it has the word.
 *
 * Races: the waker locks while it cancels, and `hrpy_interrupt_end` takes the same lock once cancellation was seen, so a token is never
 * renewed under the waker's hands. A signal between steps finds no step and does nothing here. */
#include <semaphore.h>
#include <signal.h>
#include "ext.h"
#include "rt/cancel.h"

static struct {
  bool started;
  pthread_t main;
  struct sigaction next; /* the handler that was there: the interpreter's */
  sem_t signalled;
  hr_mutex_t mu; /* guards token's renewal against the waker */
  hr_cancel_t token;
  atomic_bool running; /* a step of the main thread uses the token */
  bool busy;           /* main thread only: a step inside a step (a Python function in a graph) has no token */
} interrupt;

static void interrupt_handle(int number, siginfo_t* info, void* context) {
  int saved = errno;
  sem_post(&interrupt.signalled);
  if (interrupt.next.sa_flags & SA_SIGINFO)
    interrupt.next.sa_sigaction(number, info, context);
  else if (interrupt.next.sa_handler != SIG_IGN && interrupt.next.sa_handler != SIG_DFL)
    interrupt.next.sa_handler(number);
  errno = saved;
}

static void* interrupt_wake(void* unused) {
  for (;;) {
    while (sem_wait(&interrupt.signalled)) {}
    hr_mutex_lock(&interrupt.mu);
    if (atomic_load(&interrupt.running)) hr_cancel_start(&interrupt.token, hr_status_cancelled());
    hr_mutex_unlock(&interrupt.mu);
  }
  return unused;
}

static bool interrupt_start(void) {
  pthread_t thread;
  sigset_t all, old;
  if (sem_init(&interrupt.signalled, 0, 0)) return false;
  hr_mutex_init(&interrupt.mu);
  hr_cancel_init(&interrupt.token);
  interrupt.main = pthread_self();
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old); /* signals go to the script's threads */
  bool fine = pthread_create(&thread, NULL, interrupt_wake, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (fine) pthread_detach(thread);
  return fine;
}

static bool interrupt_is_main(void) {
  PyObject* threading = PyImport_ImportModule("threading");
  PyObject* main = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
  PyObject* current = main ? PyObject_CallMethod(threading, "current_thread", NULL) : NULL;
  bool is = current && main == current;
  Py_XDECREF(threading);
  Py_XDECREF(main);
  Py_XDECREF(current);
  PyErr_Clear();
  return is;
}

/* When a session starts: puts our handler before the one that is there, unless it is there already or Ctrl-C is ignored. */
void hrpy_interrupt_watch(void) {
  struct sigaction now;
  if (sigaction(SIGINT, NULL, &now) || now.sa_handler == SIG_IGN || now.sa_handler == SIG_DFL || now.sa_sigaction == interrupt_handle)
    return;
  if (!interrupt.started && (!interrupt_is_main() || !(interrupt.started = interrupt_start()))) return;
  if (!pthread_equal(pthread_self(), interrupt.main)) return;
  interrupt.next = now;
  struct sigaction ours = {
      .sa_sigaction = interrupt_handle, .sa_flags = SA_SIGINFO | (now.sa_flags & (SA_RESTART | SA_ONSTACK)), .sa_mask = now.sa_mask};
  sigaction(SIGINT, &ours, NULL);
}

hr_cancel_t* hrpy_interrupt_begin(void) {
  if (!interrupt.started || interrupt.busy || !pthread_equal(pthread_self(), interrupt.main)) return NULL;
  interrupt.busy = true;
  atomic_store_explicit(&interrupt.running, true, memory_order_release);
  return &interrupt.token;
}

void hrpy_interrupt_end(hr_cancel_t* c) {
  if (!c) return;
  atomic_store_explicit(&interrupt.running, false, memory_order_seq_cst);
  interrupt.busy = false;
  if (!hr_cancel_is_set(c)) return;
  hr_mutex_lock(&interrupt.mu);
  hr_cancel_deinit(c);
  hr_cancel_init(c);
  hr_mutex_unlock(&interrupt.mu);
}
