// strings.js - every word of the page, in each of its languages. A key without a row in one of them is a mistake that
// test/strings.test.mjs finds. {0}, {1} stand for what the caller puts in.

export const LANGUAGES = { en: 'English', zh: '中文' };

const rows = {
  tagline: ['PyTorch files to ONNX, in this tab', '在这个标签页里把 PyTorch 文件转换成 ONNX'],
  private: ['Nothing is uploaded: the converter runs here.', '文件不会上传：转换器就在本页运行。'],
  drop: ['Drop a model here', '把模型拖到这里'],
  kinds: ['.pt, .pt2, .ptl to convert, .onnx to look at', '.pt、.pt2、.ptl 可转换，.onnx 可查看'],
  choose: ['Choose a file', '选择文件'],
  example: ['Try the digits example', '试试手写数字示例'],
  other: ['Another file', '换一个文件'],
  theme: ['Light or dark', '明暗主题'],
  language: ['Language', '语言'],
  skip: ['Skip to the content', '跳到正文'],

  inputs: ['Inputs', '输入'],
  inputsHint: ['What the file does not say can be given here. A size may be a number, a name for one that varies (N), or ?.',
    '文件没有说明的可以在这里填写。尺寸可以是数字、可变尺寸的名字（N）或 ?。'],
  type: ['Type', '类型'],
  sizes: ['Sizes', '尺寸'],
  value: ['Value', '值'],
  unknownType: ['not known', '未知'],
  sizesMissing: ['Give the sizes of {0}, or [] for a single number.', '请填写 {0} 的尺寸；单个数字写 []。'],
  options: ['Options', '选项'],
  opset: ['Opset', '算子集版本'],
  weights: ['Weights', '权重'],
  'weights.auto': ['in the model up to 2 GB', '2 GB 以内放在模型里'],
  'weights.inline': ['in the model', '放在模型里'],
  'weights.external': ['in a file beside it', '放在旁边的文件里'],
  target: ['Written for', '目标'],
  mode: ['Mode', '模式'],
  'mode.eval': ['evaluation', '推理'],
  'mode.saved': ['as saved', '按保存时的状态'],
  state: ['State', '状态'],
  'state.io': ['inputs and outputs', '作为输入和输出'],
  'state.defaults': ['with the saved value as default', '以保存的值为默认值'],
  'state.constant': ['stays as saved', '保持保存时的值'],
  'state.refuse': ['an error', '报错'],
  dynamic: ['Sizes that a trace recorded may vary', '跟踪时记录的尺寸可变'],
  keepWeights: ['Keep every weight as it is', '保持每个权重不变'],
  custom: ['Unknown operators become custom nodes', '未知算子变为自定义节点'],
  module: ['Only this part', '只转换这一部分'],
  command: ['The same on the command line', '等价的命令行'],
  copy: ['Copy', '复制'],
  copied: ['Copied', '已复制'],

  convert: ['Convert', '转换'],
  again: ['Convert again', '重新转换'],
  stop: ['Stop', '停止'],
  stopped: ['Stopped.', '已停止。'],
  converting: ['Converting', '正在转换'],
  converted: ['Converted in {0}', '转换完成，用时 {0}'],
  failed: ['Not converted', '未能转换'],
  wanted: ['With these inputs it converts. Names and types are the program\'s, the rest is an example to change.',
    '填上这些输入就能转换。名字和类型来自程序，其余是可以修改的例子。'],
  fill: ['Fill them in', '填入'],
  save: ['Save {0}', '保存 {0}'],
  notes: ['What to know', '须知'],
  'note.assumed': ['assumed', '假定'],
  'note.added': ['added', '添加'],
  'note.dropped': ['dropped', '略去'],
  'note.changed': ['changed', '更改'],

  picture: ['Picture', '结构图'],
  run: ['Run', '运行'],
  program: ['Program', '程序'],

  runIt: ['Run', '运行'],
  tooLarge: ['The model is too large to run in a browser. Save it, and run it with ONNX Runtime.', '模型太大，无法在浏览器中运行。请保存后用 ONNX Runtime 运行。'],
  sizeIs: ['{0} is', '{0} 取'],
  valuesFrom: ['values', '取值'],
  'from.first': ['as saved in the file', '文件里保存的值'],
  'from.random': ['random numbers', '随机数'],
  'from.typed': ['numbers typed in', '手动输入'],
  'from.npy': ['a .npy file', '.npy 文件'],
  'from.image': ['an image', '图片'],
  scale: ['Scale of the image', '图片的数值范围'],
  'scale.unit': ['0 to 1', '0 到 1'],
  'scale.imagenet': ['as for ImageNet', 'ImageNet 标准化'],
  'scale.signed': ['-1 to 1', '-1 到 1'],
  'scale.bytes': ['0 to 255', '0 到 255'],
  cannotGive: ['A value of this type cannot be given here.', '此处无法提供这种类型的值。'],
  chooseFile: ['choose a file for {0}', '请为 {0} 选择文件'],
  otherSizes: ['{0}: the file has {1}, the model takes {2}', '{0}：文件是 {1}，模型需要 {2}'],
  converts: ['{0} was converted from {1} to {2}.', '{0} 已从 {1} 转换为 {2}。'],
  unfit: ['These values do not fit: {0}', '这些值不适用：{0}'],
  loads: ['loading ONNX Runtime and the model', '正在加载 ONNX Runtime 和模型'],
  runs: ['running', '正在运行'],
  ran: ['Ran in {0}', '运行用时 {0}'],
  loadedIn: ['loaded in {0}', '加载用时 {0}'],
  memory: ['{0} of memory', '内存 {0}'],
  numbersOf: ['The numbers of {0}', '{0} 的数值'],
  drawDigit: ['Draw a digit', '写一个数字'],
  seen: ['what the network sees:', '网络看到的：'],
  clear: ['Clear', '清除'],
};

let language = 'en';

export function setLanguage(wanted) {
  language = wanted in LANGUAGES ? wanted : 'en';
  return language;
}

export function currentLanguage() {
  return language;
}

export function addRows(more) {
  Object.assign(rows, more);
}

export function allRows() {
  return rows;
}

/** The text of a key in the language that is chosen. */
export function t(key, ...args) {
  const row = rows[key];
  if (!row)
    throw new Error(`no text for ${key}`);
  const text = row[Object.keys(LANGUAGES).indexOf(language)];
  return text.replace(/\{(\d)\}/g, (_, i) => args[i]);
}

/** Puts the texts into what stands in the document: data-t is the text, data-t-label the aria-label. */
export function translate(root) {
  for (const element of root.querySelectorAll('[data-t]'))
    element.textContent = t(element.dataset.t);
  for (const element of root.querySelectorAll('[data-t-label]')) {
    element.setAttribute('aria-label', t(element.dataset.tLabel));
    element.title = t(element.dataset.tLabel);
  }
}
