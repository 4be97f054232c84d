// What libarchive says of kinds of files that an archive cannot have. Its own stands beside the table of all formats, which
// would bring XML and ICU along, thirty megabytes that nothing here uses.
#include <archive.h>
#include <archive_entry.h>

void __archive_write_entry_filetype_unsupported(struct archive *a, struct archive_entry *entry, char const *format) {
  (void)entry;
  archive_set_error(a, -1, "%s: this kind of file is not supported", format);
}
