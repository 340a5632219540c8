// layout-worker.js - places of boxes and ways of lines for one group: dagre, outside the page's own thread.
import dagre from '@dagrejs/dagre';

// Layers of a model are alike: what has been laid out once is not laid out again.
const known = new Map();

/** boxes: [width, height] each, lines: [from, to] each by their places among the boxes. */
function layout(boxes, lines) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: 22, edgesep: 14, ranksep: 34, marginx: 0, marginy: 0 });
  boxes.forEach(([width, height], i) => graph.setNode(String(i), { width, height }));
  for (const [from, to] of lines)
    graph.setEdge(String(from), String(to), {});
  dagre.layout(graph);
  const { width, height } = graph.graph();
  const places = boxes.map(([w, h], i) => {
    const { x, y } = graph.node(String(i));
    return [x - w / 2, y - h / 2];
  });
  const ways = lines.map(([from, to]) => graph.edge(String(from), String(to)).points.map(({ x, y }) => [x, y]));
  return { width: Math.max(width || 0, 1), height: Math.max(height || 0, 1), places, ways };
}

onmessage = ({ data: { ticket, boxes, lines } }) => {
  const key = JSON.stringify([boxes, lines]);
  if (!known.has(key))
    known.set(key, layout(boxes, lines));
  postMessage({ ticket, ...known.get(key) });
};
