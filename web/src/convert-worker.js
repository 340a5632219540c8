// convert-worker.js - one call of the library, in a worker that lives as long as the call.
//
// It is sent { module, file, name, action, options }: the compiled WebAssembly, a Blob, the name that messages are to
// give it, 'convert', 'check' or 'show', and [option, value] pairs in the words of the command line. It posts progress and notes
// while it works, then what became of it. Whoever wants to stop it terminates the worker.
import createLibrary from 'pt2onnx-library';

const NOTES = ['assumed', 'added', 'dropped', 'changed', 'info'];
const USAGE = 2;
const OUT_OF_MEMORY = 3;
const decoder = new TextDecoder();

let memory = 0;
let peak = 0;

function post(message) {
  postMessage(message);
}

async function load(compiled) {
  const chunks = [];
  const lines = {};
  const library = await createLibrary({
    instantiateWasm(imports, done) {
      WebAssembly.instantiate(compiled, imports).then((instance) => {
        memory = instance.exports.memory;
        done(instance, compiled);
      });
      return {};
    },
    onNote: (kind, text) => post({ type: 'note', kind: NOTES[kind], text }),
    onProgress: (stage, share) => post({ type: 'progress', stage, share }),
    onSource: (place, text) => { lines[place] = text; },
    onText: (bytes) => chunks.push(bytes),
    print: (text) => post({ type: 'log', text }),
    printErr: (text) => post({ type: 'log', text }),
  });
  return { library, lines, text: () => chunks.map((bytes) => decoder.decode(bytes, { stream: true })).join('') + decoder.decode() };
}

// What the browser throws where a process would be killed: its own stack or its memory is used up.
function message(name, error) {
  if (error instanceof RangeError)
    return `${name}: values, types or sizes are nested too deep for this browser`;
  return `${name}: the browser ended the conversion: ${error.message ?? error}`;
}

onmessage = async ({ data: { module, file, name, action, options } }) => {
  const start = performance.now();
  const { library, lines, text } = await load(module);
  const { FS, BLOBFS } = library;
  const out = name.replace(/\.[^.]*$/, '') + '.onnx';
  FS.mkdir('/model');
  FS.mount(BLOBFS, { files: { [name]: file } }, '/model');
  FS.chdir('/model');
  const done = { type: 'done', status: OUT_OF_MEMORY, message: '', wanted: [], files: [], text: '' };
  const refused = options.find((pair) => !library.ccall('web_set', 'number', ['string', 'string'], pair));
  if (refused) {
    post({ ...done, status: USAGE, message: `there is no option ${refused.join('=')} here`, lines, text: text(), milliseconds: 0 });
    return;
  }
  try {
    done.status = action === 'convert'
      ? library.ccall('web_convert', 'number', ['string', 'string'], [name, out])
      : library.ccall(`web_${action}`, 'number', ['string'], [name]);
    done.message = library.ccall('web_message', 'string', [], []);
    for (let spec; (spec = library.ccall('web_wanted', 'string', [], []));)
      done.wanted.push(spec);
  } catch (error) {
    done.message = message(name, error);
  }
  if (done.status === 0 && action === 'convert')
    done.files = FS.readdir('.').filter((f) => f === out || f === out + '.data').sort()
      .map((f) => ({ name: f, blob: BLOBFS.blob(f) }));
  peak = memory.buffer.byteLength;
  post({ ...done, lines, text: text(), memory: peak, milliseconds: performance.now() - start });
};
