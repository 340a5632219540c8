/** A path, a file: or http: URL, or the bytes of a .pt or .pt2. In Node a string is a path, in a page an address. */
export type Model = string | URL | Blob | Uint8Array | ArrayBuffer;

/** What was assumed, added, dropped or changed. */
export interface Note {
  kind: 'assumed' | 'added' | 'dropped' | 'changed' | 'info';
  text: string;
}

/** The options of `pt2onnx --help`; what is left out has its default. */
export interface Options {
  /** Types and shapes of inputs, values of arguments: 'x:float32[N,3,224,224]', where N is a dynamic size. */
  inputs?: string[];
  /** 9 to 28; 18 when left out. */
  opset?: number;
  /** The sizes that a trace has recorded become dynamic. */
  dynamic?: boolean;
  target?: 'ort' | 'onnx';
  weights?: 'auto' | 'inline' | 'external';
  mode?: 'eval' | 'saved';
  state?: 'io' | 'constant' | 'refuse';
  loops?: 'auto' | 'keep' | 'unroll';
  unknown?: 'refuse' | 'custom';
  /** A part of the model: 'encoder.layers.0'. */
  module?: string;
  /** Another method than forward. */
  method?: string;
  /** Which program of a torch.export package. */
  model?: string;
  /** Other names for sizes of a torch.export program: 's77=batch'. */
  dims?: string[];
  /** 'NAME=VALUE', as `pt2onnx limits` lists them. */
  limits?: string[];
  keepWeights?: boolean;
  checkCrc?: boolean;
  /** Ends the call; in Node no unfinished file is left. */
  signal?: AbortSignal;
  /** Node only: the file to write. Without it the model is in `files`, and so in memory. */
  output?: string | URL;
  /** Node only: other options of `pt2onnx --help`, as words: ['--weights-type=float16']. */
  more?: string[];
}

export interface Converted {
  /** Of the model and its .data together. */
  bytes: number;
  seconds: number;
  notes: Note[];
  /** The model, and its .data; empty where `output` names a file. */
  files: { name: string; blob: Blob }[];
  /** In Node: how many nodes there are, and the opset. */
  nodes?: number;
  opset?: number;
}

/** What pt2onnx says of a model that it does not convert: several lines, with the user's source line. */
export class ConversionError extends Error {
  status: 'cannot_convert' | 'usage' | 'unreadable' | 'bug';
  notes: Note[];
}

export function convert(model: Model, options?: Options): Promise<Converted>;

/** As convert, and nothing is written: the error lists everything that is not supported. */
export function check(model: Model, options?: Options): Promise<{ seconds: number; notes: Note[] }>;

/** Inputs, outputs, modules, weights and program: the object that `pt2onnx show --json` prints. */
export function show(model: Model, options?: Options): Promise<Record<string, unknown>>;
