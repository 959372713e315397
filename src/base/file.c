/* SPDX-License-Identifier: Apache-2.0 */
/* One open file with a write buffer. A write that failed once fails every later write, flush and close, so that a caller who looks
 * only at the close still learns of it. */
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/alloc.h"

enum { WRITE_BUFFER = 64 * 1024 };

struct hr_file {
  int fd;
  bool writable;
  int write_error;  /* errno of the first failed write; 0: none */
  uint64_t size;    /* of a file to read, when it was opened; else bytes written through this one and before */
  size_t buffered;
  char* buffer;     /* WRITE_BUFFER bytes; NULL in a file to read */
  char path[];
};

static hr_status_t file_open(const char* path, int flags, hr_file_t** out) {
  size_t length = strlen(path);
  bool writable = (flags & O_ACCMODE) != O_RDONLY;
  hr_status_t status = NULL;
  struct stat info;
  hr_file_t* f = hr_alloc_zero(sizeof *f + length + 1);
  if (!f) return hr_status_out_of_memory();
  memcpy(f->path, path, length);
  f->fd = -1;
  f->writable = writable;
  if (writable && !(f->buffer = hr_alloc(WRITE_BUFFER))) {
    status = hr_status_out_of_memory();
    goto done;
  }
  do f->fd = open(path, flags | O_CLOEXEC | (writable ? 0 : O_NONBLOCK), 0666); /* else a pipe without a writer would wait for ever */
  while (f->fd < 0 && errno == EINTR);
  if (f->fd < 0 || fstat(f->fd, &info) != 0) {
    status = hr_file_error(errno, "cannot open", path);
    goto done;
  }
  if (S_ISDIR(info.st_mode)) {
    status = HR_ERROR(FAILED_PRECONDITION, "cannot open '%s': it is a directory", path);
    goto done;
  }
  if (!writable && !S_ISREG(info.st_mode)) {
    status = HR_ERROR(FAILED_PRECONDITION, "cannot open '%s': it is not a regular file", path);
    goto done;
  }
  f->size = (uint64_t)info.st_size;
  *out = f;
  f = NULL;
done:
  if (f) {
    if (f->fd >= 0) close(f->fd);
    hr_free(f->buffer);
    hr_free(f);
  }
  return status;
}

hr_status_t hr_file_open(const char* path, hr_file_t** out) { return file_open(path, O_RDONLY, out); }
hr_status_t hr_file_create(const char* path, hr_file_t** out) { return file_open(path, O_WRONLY | O_CREAT | O_TRUNC, out); }
hr_status_t hr_file_append(const char* path, hr_file_t** out) { return file_open(path, O_WRONLY | O_CREAT | O_APPEND, out); }

/* Bytes read, less than size only at the end of the file; -1: errno says. */
static ssize_t read_fully(int fd, uint64_t offset, char* out, size_t size) {
  size_t got = 0;
  while (got < size) {
    ssize_t n = pread(fd, out + got, size - got, (off_t)(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    got += (size_t)n;
  }
  return (ssize_t)got;
}

hr_status_t hr_file_read_at(hr_file_t* f, uint64_t offset, void* out, size_t size) {
  if (offset > INT64_MAX || size > INT64_MAX - offset)
    return HR_ERROR(OUT_OF_RANGE, "cannot read %zu bytes at %llu of '%s': past any file's end", size, (unsigned long long)offset, f->path);
  ssize_t got = read_fully(f->fd, offset, out, size);
  if (got < 0) return hr_file_error(errno, "cannot read", f->path);
  if ((size_t)got == size) return NULL;
  return HR_ERROR(OUT_OF_RANGE, "cannot read %zu bytes at %llu of '%s': it ends after %zd of them", size, (unsigned long long)offset,
                  f->path, got);
}

uint64_t hr_file_size(const hr_file_t* f) { return f->size; }

static hr_status_t write_failed(hr_file_t* f, int error) {
  f->write_error = error;
  return hr_file_error(error, "cannot write", f->path);
}

static hr_status_t write_out(hr_file_t* f, const char* data, size_t size) {
  while (size) {
    ssize_t n = write(f->fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return write_failed(f, errno);
    data += n;
    size -= (size_t)n;
  }
  return NULL;
}

hr_status_t hr_file_flush(hr_file_t* f) {
  if (f->write_error) return hr_file_error(f->write_error, "cannot write", f->path);
  size_t size = f->buffered;
  f->buffered = 0;
  return write_out(f, f->buffer, size);
}

hr_status_t hr_file_write(hr_file_t* f, const void* data, size_t size) {
  if (!f->writable) return HR_ERROR(FAILED_PRECONDITION, "cannot write to '%s': it was opened to read", f->path);
  if (f->write_error) return hr_file_error(f->write_error, "cannot write", f->path);
  if (size > WRITE_BUFFER - f->buffered) HR_TRY(hr_file_flush(f));
  f->size += size;
  if (size >= WRITE_BUFFER) return write_out(f, data, size);
  if (size) memcpy(f->buffer + f->buffered, data, size);
  f->buffered += size;
  return NULL;
}

hr_status_t hr_file_sync(hr_file_t* f) {
  HR_TRY(hr_file_flush(f));
  return fsync(f->fd) == 0 ? NULL : write_failed(f, errno);
}

void hr_file_start_writeback(hr_file_t* f) {
#ifdef SYNC_FILE_RANGE_WRITE
  if (f->writable) (void)sync_file_range(f->fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* where the file system cannot, the sync does it all */
#else
  (void)f;
#endif
}

hr_status_t hr_file_close(hr_file_t* take_f) {
  hr_file_t* f = take_f;
  if (!f) return NULL;
  hr_status_t status = f->writable ? hr_file_flush(f) : NULL;
  if (close(f->fd) != 0 && errno != EINTR) hr_status_merge(&status, hr_file_error(errno, "cannot close", f->path));
  hr_free(f->buffer);
  hr_free(f);
  return status;
}
