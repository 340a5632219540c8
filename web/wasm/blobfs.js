// blobfs.js - files that are Blobs, for the library in a worker; linked in by emcc's --js-library.
//
// A folder that BLOBFS is mounted on behaves as MEMFS does, but for the contents of its files: each is a list of parts,
// Blobs and slices of Blobs. Reading takes the slice that is asked for and nothing else. Copying from file to file
// (web_copy, which is sys_copy of system.c) puts a slice of the one into the list of the other. What the library
// writes itself is gathered and handed to the browser a megabyte at a time, which keeps it outside our memory.
//
// The other functions here are what the library tells: they call Module.onNote, onProgress, onSource and onText.

mergeInto(LibraryManager.library, {
  $BLOBFS__deps: ['$FS', '$MEMFS'],
  $BLOBFS: {
    GATHERED: 1 << 20,
    reader: null,

    // FS.mount(BLOBFS, { files: { 'net.pt': blob } }, '/in')
    mount: function(mount) {
      BLOBFS.reader = new FileReaderSync();
      var root = BLOBFS.createNode(null, '/', {{{ cDefine('S_IFDIR') }}} | 511, 0);
      var files = mount.opts.files || {};
      for (var name in files) {
        var node = BLOBFS.createNode(root, name, {{{ cDefine('S_IFREG') }}} | 292, 0);
        BLOBFS.append(node, files[name]);
      }
      return root;
    },

    createNode: function(parent, name, mode, dev) {
      var node = MEMFS.createNode(parent, name, mode, dev);
      if (FS.isDir(mode)) {
        node.node_ops = Object.assign({}, node.node_ops, { mknod: BLOBFS.createNode });
      } else if (FS.isFile(mode)) {
        node.parts = [];      // { at, blob }: at is where it begins in the file
        node.size = 0;        // of the parts
        node.tail = null;     // what was written last and is no Blob yet
        node.tailSize = 0;
        node.node_ops = { getattr: BLOBFS.getattr, setattr: BLOBFS.setattr };
        node.stream_ops = { read: BLOBFS.read, write: BLOBFS.write, llseek: MEMFS.stream_ops.llseek };
      }
      return node;
    },

    append: function(node, blob) {
      if (blob.size === 0) return;
      node.parts.push({ at: node.size, blob: blob });
      node.size += blob.size;
    },

    seal: function(node) {
      if (node.tailSize > 0) BLOBFS.append(node, new Blob([node.tail.subarray(0, node.tailSize)]));
      node.tailSize = 0;
    },

    // The whole file: its slices stay slices.
    blob: function(path) {
      var node = FS.lookupPath(path).node;
      BLOBFS.seal(node);
      return new Blob(node.parts.map(function(part) { return part.blob; }), { type: 'application/octet-stream' });
    },

    getattr: function(node) {
      var size = node.size + node.tailSize;
      var time = new Date(node.timestamp);
      return { dev: 1, ino: node.id, mode: node.mode, nlink: 1, uid: 0, gid: 0, rdev: 0, size: size,
               atime: time, mtime: time, ctime: time, blksize: 4096, blocks: Math.ceil(size / 4096) };
    },

    setattr: function(node, attr) {
      if (attr.mode !== undefined) node.mode = attr.mode;
      if (attr.size !== undefined) {        // only what truncating to nothing needs
        if (attr.size !== 0) throw new FS.ErrnoError({{{ cDefine('EINVAL') }}});
        node.parts = [];
        node.size = node.tailSize = 0;
      }
    },

    // The part that byte `at` lies in.
    find: function(parts, at) {
      var low = 0, high = parts.length - 1;
      while (low < high) {
        var middle = (low + high + 1) >> 1;
        if (parts[middle].at <= at) low = middle; else high = middle - 1;
      }
      return low;
    },

    read: function(stream, buffer, offset, length, position) {
      var node = stream.node;
      BLOBFS.seal(node);
      var left = Math.min(length, node.size - position), got = 0;
      for (var i = BLOBFS.find(node.parts, position); got < left; i++) {
        var part = node.parts[i];
        var from = position + got - part.at;
        var slice = part.blob.slice(from, Math.min(from + left - got, part.blob.size));
        var bytes;
        try {
          bytes = BLOBFS.reader.readAsArrayBuffer(slice);
        } catch (e) {                       // the file was removed or changed since it was chosen
          throw new FS.ErrnoError({{{ cDefine('EIO') }}});
        }
        if (bytes.byteLength === 0) break;
        buffer.set(new Uint8Array(bytes), offset + got);
        got += bytes.byteLength;
      }
      return Math.max(got, 0);
    },

    // At the end only, as the library writes.
    write: function(stream, buffer, offset, length, position) {
      var node = stream.node;
      if (position !== node.size + node.tailSize) throw new FS.ErrnoError({{{ cDefine('EINVAL') }}});
      node.timestamp = Date.now();
      for (var put = 0; put < length;) {
        if (!node.tail) node.tail = new Uint8Array(BLOBFS.GATHERED);
        var some = Math.min(length - put, BLOBFS.GATHERED - node.tailSize);
        node.tail.set(buffer.subarray(offset + put, offset + put + some), node.tailSize);
        node.tailSize += some;
        put += some;
        if (node.tailSize === BLOBFS.GATHERED) BLOBFS.seal(node);
      }
      return length;
    },

    copy: function(from, at, to, n) {
      var source = FS.getStream(from), target = FS.getStream(to);
      if (!source || !target || !source.node.parts || !target.node.parts) return -1;
      BLOBFS.seal(target.node);
      var parts = source.node.parts, left = Math.max(Math.min(n, source.node.size - at), 0), put = 0;
      for (var i = BLOBFS.find(parts, at); put < left; i++) {
        var start = at + put - parts[i].at, stop = Math.min(start + left - put, parts[i].blob.size);
        BLOBFS.append(target.node, parts[i].blob.slice(start, stop));
        put += stop - start;
      }
      target.position += put;
      return put;
    },
  },

  web_copy__deps: ['$BLOBFS'],
  web_copy: function(from, at, to, n) { return BLOBFS.copy(from, at, to, n); },
  web_read__deps: ['$FS'],
  web_read: function(from, at, out, n) {
    try {
      return FS.read(FS.getStream(from), HEAP8, out, n, at);
    } catch (e) {
      if (e instanceof FS.ErrnoError) return -1;
      throw e;
    }
  },
  web_note: function(kind, text) { Module['onNote'](kind, UTF8ToString(text)); },
  web_progress: function(stage, share) { Module['onProgress'](UTF8ToString(stage), share); },
  web_source: function(place, text) { Module['onSource'](UTF8ToString(place), UTF8ToString(text)); },
  web_text: function(at, n) { Module['onText'](HEAPU8.slice(at, at + n)); },
});
