/* SPDX-License-Identifier: Apache-2.0 */
/* Files as a whole and by name: whole reads, atomic replacement, folders, and which code an errno has. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/file.h"

/* Rows: an errno and its code. What is not listed is UNKNOWN. */
static const struct { int error; hr_code_t code;
} error_rows[] = {
    {EINVAL, HR_INVALID_ARGUMENT},
    {ENAMETOOLONG, HR_INVALID_ARGUMENT},
    {E2BIG, HR_INVALID_ARGUMENT},
    {EDESTADDRREQ, HR_INVALID_ARGUMENT},
    {EDOM, HR_INVALID_ARGUMENT},
    {EFAULT, HR_INVALID_ARGUMENT},
    {EILSEQ, HR_INVALID_ARGUMENT},
    {ENOPROTOOPT, HR_INVALID_ARGUMENT},
    {ENOTSOCK, HR_INVALID_ARGUMENT},
    {ENOTTY, HR_INVALID_ARGUMENT},
    {EPROTOTYPE, HR_INVALID_ARGUMENT},
    {ESPIPE, HR_INVALID_ARGUMENT},
    {ETIMEDOUT, HR_DEADLINE_EXCEEDED},
    {ETIME, HR_DEADLINE_EXCEEDED},
    {ENODEV, HR_NOT_FOUND},
    {ENOENT, HR_NOT_FOUND},
    {ENXIO, HR_NOT_FOUND},
    {ESRCH, HR_NOT_FOUND},
    {EEXIST, HR_ALREADY_EXISTS},
    {EADDRNOTAVAIL, HR_ALREADY_EXISTS},
    {EALREADY, HR_ALREADY_EXISTS},
    {EPERM, HR_PERMISSION_DENIED},
    {EACCES, HR_PERMISSION_DENIED},
    {EROFS, HR_PERMISSION_DENIED},
    {ENOTEMPTY, HR_FAILED_PRECONDITION},
    {EISDIR, HR_FAILED_PRECONDITION},
    {ENOTDIR, HR_FAILED_PRECONDITION},
    {EADDRINUSE, HR_FAILED_PRECONDITION},
    {EBADF, HR_FAILED_PRECONDITION},
    {EBUSY, HR_FAILED_PRECONDITION},
    {ECHILD, HR_FAILED_PRECONDITION},
    {EISCONN, HR_FAILED_PRECONDITION},
    {ENOTBLK, HR_FAILED_PRECONDITION},
    {ENOTCONN, HR_FAILED_PRECONDITION},
    {EPIPE, HR_FAILED_PRECONDITION},
    {ESHUTDOWN, HR_FAILED_PRECONDITION},
    {ETXTBSY, HR_FAILED_PRECONDITION},
    {ENOSPC, HR_RESOURCE_EXHAUSTED},
    {EDQUOT, HR_RESOURCE_EXHAUSTED},
    {EMFILE, HR_RESOURCE_EXHAUSTED},
    {EMLINK, HR_RESOURCE_EXHAUSTED},
    {ENFILE, HR_RESOURCE_EXHAUSTED},
    {ENOBUFS, HR_RESOURCE_EXHAUSTED},
    {ENODATA, HR_RESOURCE_EXHAUSTED},
    {ENOMEM, HR_RESOURCE_EXHAUSTED},
    {ENOSR, HR_RESOURCE_EXHAUSTED},
    {EUSERS, HR_RESOURCE_EXHAUSTED},
    {EFBIG, HR_OUT_OF_RANGE},
    {EOVERFLOW, HR_OUT_OF_RANGE},
    {ERANGE, HR_OUT_OF_RANGE},
    {ENOSYS, HR_UNIMPLEMENTED},
    {ENOTSUP, HR_UNIMPLEMENTED},
    {EAFNOSUPPORT, HR_UNIMPLEMENTED},
    {EPFNOSUPPORT, HR_UNIMPLEMENTED},
    {EPROTONOSUPPORT, HR_UNIMPLEMENTED},
    {ESOCKTNOSUPPORT, HR_UNIMPLEMENTED},
    {EXDEV, HR_UNIMPLEMENTED},
    {EAGAIN, HR_UNAVAILABLE},
    {ECONNREFUSED, HR_UNAVAILABLE},
    {ECONNABORTED, HR_UNAVAILABLE},
    {ECONNRESET, HR_UNAVAILABLE},
    {EINTR, HR_UNAVAILABLE},
    {EHOSTDOWN, HR_UNAVAILABLE},
    {EHOSTUNREACH, HR_UNAVAILABLE},
    {ENETDOWN, HR_UNAVAILABLE},
    {ENETRESET, HR_UNAVAILABLE},
    {ENETUNREACH, HR_UNAVAILABLE},
    {ENOLCK, HR_UNAVAILABLE},
    {ENOLINK, HR_UNAVAILABLE},
    {ENONET, HR_UNAVAILABLE},
    {EDEADLK, HR_ABORTED},
    {ESTALE, HR_ABORTED},
    {ECANCELED, HR_CANCELLED},
};

hr_status_t hr_file_error(int error_number, const char* what, const char* path) {
  hr_code_t code = HR_UNKNOWN;
  for (size_t i = 0; i < sizeof error_rows / sizeof *error_rows; ++i)
    if (error_rows[i].error == error_number) code = error_rows[i].code;
  char text[128];
  return hr_status_create(code, __FILE__, __LINE__, "%s '%s': %s", what, path, strerror_r(error_number, text, sizeof text));
}

/* Reads to the end, whatever size the file claims: /proc claims 0, and files grow. `room` is more than the claimed size, so that
 * one read of a regular file sees the end too. */
static hr_status_t read_to_end(const char* path, int fd, size_t room, char** out_data, size_t* out_size) {
  char* data = NULL;
  size_t size = 0;
  for (;;) {
    char* grown = hr_alloc_resize(data, room);
    if (!grown) break;
    data = grown;
    ssize_t n = 0;
    while (size < room - 1 && ((n = read(fd, data + size, room - 1 - size)) > 0 || (n < 0 && errno == EINTR)))
      size += n > 0 ? (size_t)n : 0;
    if (n < 0) {
      int error = errno;
      hr_free(data);
      return hr_file_error(error, "cannot read", path);
    }
    if (size < room - 1) {
      data[size] = 0;
      *out_data = data;
      if (out_size) *out_size = size;
      return NULL;
    }
    room += room / 2;
  }
  hr_free(data);
  return hr_status_out_of_memory();
}

/* Pipes, and devices that give something: /dev/null is as good as an empty file. */
static bool is_endless(int fd, mode_t mode) {
  char first;
  if (S_ISCHR(mode)) return read(fd, &first, 1) != 0;
  return !S_ISREG(mode) && !S_ISDIR(mode);
}

hr_status_t hr_file_read(const char* path, char** out_data, size_t* out_size) {
  enum { SLACK = 512 };
  struct stat info;
  int fd;
  do fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer would wait for ever, a device have no end */
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return hr_file_error(errno, "cannot open", path);
  hr_status_t status = NULL;
  if (fstat(fd, &info) != 0)
    status = hr_file_error(errno, "cannot read", path);
  else if (is_endless(fd, info.st_mode))
    status = HR_ERROR(FAILED_PRECONDITION, "cannot read '%s': it is not a regular file", path);
  else
    status = read_to_end(path, fd, (size_t)info.st_size + SLACK, out_data, out_size);
  close(fd);
  return status;
}

bool hr_file_exists(const char* path) { return access(path, F_OK) == 0; }

hr_status_t hr_file_rename(const char* from, const char* to) {
  return rename(from, to) == 0 ? NULL : hr_status_note(hr_file_error(errno, "cannot rename", from), "to '%s'", to);
}

hr_status_t hr_file_remove(const char* path) { return unlink(path) == 0 ? NULL : hr_file_error(errno, "cannot remove", path); }

static hr_status_t make_one_dir(const char* path) {
  struct stat info;
  if (mkdir(path, 0777) == 0) return NULL;
  int error = errno;
  if (stat(path, &info) == 0) { /* also where a parent may not be written to, or the file system is read-only */
    if (S_ISDIR(info.st_mode)) return NULL;
    error = ENOTDIR;
  }
  return hr_file_error(error, "cannot make folder", path);
}

hr_status_t hr_file_make_dirs(const char* path) {
  if (!*path) return HR_ERROR(INVALID_ARGUMENT, "the path of a folder to make is empty");
  char* copy = hr_alloc_copy(path, strlen(path));
  if (!copy) return hr_status_out_of_memory();
  hr_status_t status = NULL;
  for (char* p = copy + 1; *p && !status; ++p) {
    if (*p != '/' || p[-1] == '/') continue;
    *p = 0;
    status = make_one_dir(copy);
    *p = '/';
  }
  hr_free(copy);
  return status ? status : make_one_dir(path);
}

hr_status_t hr_file_make_dirs_of(const char* path) {
  const char* slash = strrchr(path, '/');
  if (!slash || slash == path) return NULL;
  char* folder = hr_alloc_copy(path, (size_t)(slash - path));
  if (!folder) return hr_status_out_of_memory();
  hr_status_t status = hr_file_make_dirs(folder);
  hr_free(folder);
  return status;
}

/* The name itself is durable only once its folder is. Some file systems cannot sync folders; that is no failure of ours. */
static void folder_sync(char* scratch_path) {
  char* slash = strrchr(scratch_path, '/');
  if (slash) slash[slash == scratch_path] = 0;
  int fd = open(slash ? scratch_path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!fsync(fd);
  close(fd);
}

hr_status_t hr_file_replace(const char* path, const void* data, size_t size) {
  hr_file_t* f = NULL;
  char* temporary = NULL;
  bool made = false;
  hr_strbuf_t name;
  hr_strbuf_init(&name);
  hr_strbuf_format(&name, "%s.tmp%ld-%lx", path, (long)getpid(), (unsigned long)(uintptr_t)&name);
  hr_status_t status = hr_strbuf_take(&name, &temporary, NULL);
  if (status) goto done;
  if ((status = hr_file_create(temporary, &f))) goto done;
  made = true;
  if ((status = hr_file_write(f, data, size))) goto done;
  if ((status = hr_file_sync(f))) goto done;
  status = hr_file_close(f);
  f = NULL;
  if (status) goto done;
  if ((status = hr_file_rename(temporary, path))) goto done;
  made = false;
  folder_sync(temporary);
done:
  hr_status_merge(&status, hr_file_close(f));
  if (made) unlink(temporary);
  hr_free(temporary);
  return status;
}
