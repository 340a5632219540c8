// nodefs.js - files of the system, for the program in Node; linked in by emcc's --js-library beside -sNODERAWFS, which
// gives the program Node's file descriptors.

mergeInto(LibraryManager.library, {
  $NODECOPY: { piece: null },
  web_copy__deps: ['$FS', '$NODECOPY'],
  web_copy: function(from, at, to, n) {
    if (!NODECOPY.piece) NODECOPY.piece = new Uint8Array(1 << 20);
    var source = FS.getStream(from), target = FS.getStream(to), copied = 0;
    if (!source || !target) return -1;
    try {
      while (copied < n) {
        var got = FS.read(source, NODECOPY.piece, 0, Math.min(n - copied, NODECOPY.piece.length), at + copied);
        if (got === 0) break;
        for (var put = 0; put < got;) put += FS.write(target, NODECOPY.piece, put, got - put);
        copied += got;
      }
    } catch (e) {
      if (!(e instanceof FS.ErrnoError)) throw e;
      return copied > 0 ? copied : -1;      // read and write, which come next, meet the same error and tell it
    }
    return copied;
  },
  web_read__deps: ['$FS'],
  web_read: function(from, at, out, n) {
    try {
      return FS.read(FS.getStream(from), HEAP8, out, n, at);
    } catch (e) {
      if (e instanceof FS.ErrnoError) return -1;
      throw e;
    }
  },
});
