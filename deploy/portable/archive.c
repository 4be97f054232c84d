// Replaces libarchive's error function for file types that an archive cannot contain. Its own version is in the same object
// as the table of all formats, which would link XML and ICU: thirty megabytes of unused code.
#include <archive.h>
#include <archive_entry.h>

void __archive_write_entry_filetype_unsupported(struct archive *a, struct archive_entry *entry, char const *format) {
  (void)entry;
  archive_set_error(a, -1, "%s: this kind of file is not supported", format);
}
