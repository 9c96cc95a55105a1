// Who keeps how much memory alive, as areas: two levels of the dominator tree. Enter or a click goes into a box, Escape goes out.
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {formatBytes, formatNumber} from '../../ui/format';
import {type HeapNode, type HeapTree, isFramework, nodeTitle, shortType, wayTo} from './nodes';
import {type Box, squares} from './squares';

const kTitle = 18; // height of a box's title, where its contents are drawn below
const kLeast = 3; // pixels: smaller ones are not drawn

interface Drawn extends Box {
  node: number;
  isInner: boolean;
}

function classOf(node: HeapNode): string {
  if (node.kind !== 'objects') return `heap-${node.kind}`;
  return isFramework(node.name) ? 'heap-framework' : 'heap-app';
}

function boxesOf(tree: HeapTree, at: number, width: number, height: number): Drawn[] {
  const drawn: Drawn[] = [];
  const outer = tree.children[at];
  const inside = (node: number, box: Box) => {
    const {retainedBytes} = tree.nodes[node];
    const list = tree.children[node];
    if (!list.length || box.width < 60 || box.height < 50) return;
    // What the objects themselves take is the part that no child covers.
    const own = Math.max(0, retainedBytes - list.reduce((sum, one) => sum + tree.nodes[one].retainedBytes, 0));
    const room = {x: box.x + 2, y: box.y + kTitle, width: box.width - 4, height: box.height - kTitle - 2};
    squares([...list.map((one) => tree.nodes[one].retainedBytes), own], room)
      .slice(0, -1)
      .forEach((one, i) => {
        if (one.width >= kLeast && one.height >= kLeast) drawn.push({...one, node: list[i], isInner: true});
      });
  };
  squares(outer.map((one) => tree.nodes[one].retainedBytes), {x: 0, y: 0, width, height}).forEach((box, i) => {
    if (box.width < kLeast || box.height < kLeast) return;
    drawn.push({...box, node: outer[i], isInner: false});
    inside(outer[i], box);
  });
  return drawn;
}

// The width of a text in a box, by the font that heap.css gives it.
let pen: CanvasRenderingContext2D | null | undefined;
function widthOf(text: string): number {
  if (pen === undefined) {
    pen = document.createElement('canvas').getContext('2d');
    if (pen) pen.font = `12px ${getComputedStyle(document.documentElement).getPropertyValue('--sans') || 'sans-serif'}`;
  }
  return pen ? pen.measureText(text).width : text.length * 7;
}

function fitting(text: string, width: number): string {
  const room = width - 10;
  if (widthOf(text) <= room) return text;
  let letters = Math.min(text.length, Math.floor(room / 3)); // none is narrower than that
  while (letters >= 3 && widthOf(`${text.slice(0, letters)}…`) > room) --letters;
  return letters < 3 ? '' : `${text.slice(0, letters)}…`;
}

export const nodeWords = (node: HeapNode, all: number): string =>
  `${nodeTitle(node)}: ${formatBytes(node.retainedBytes)} retained, ${all > 0 ? ((node.retainedBytes / all) * 100).toFixed(1) : '0'} %${node.count ? `, ${formatNumber(node.count)} ${node.count === 1 ? 'object' : 'objects'}` : ''}`;

interface TreemapProps {
  tree: HeapTree;
  at: number; // the node whose contents are shown
  onOpen: (node: number) => void;
}

export function Treemap({tree, at, onOpen}: TreemapProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [chosen, setChosen] = useState(0); // index of the box that has the keyboard
  useEffect(() => {
    const watch = new ResizeObserver(() => setWidth(frame.current?.clientWidth ?? 0));
    if (frame.current) watch.observe(frame.current);
    return () => watch.disconnect();
  }, []);
  const height = Math.round(Math.min(460, Math.max(260, width * 0.5)));
  const boxes = useMemo(() => (width ? boxesOf(tree, at, width, height) : []), [tree, at, width]);
  useEffect(() => setChosen(0), [at, tree]);
  const all = tree.nodes[0]?.retainedBytes ?? 0;
  const move = (index: number) => {
    if (index < 0 || index >= boxes.length) return;
    setChosen(index);
    frame.current?.querySelector<SVGElement>(`[data-box="${index}"]`)?.focus();
  };
  const enter = (node: number) => {
    if (tree.children[node].length || tree.nodes[node].kind === 'objects') onOpen(node);
  };
  const onKey = (event: KeyboardEvent) => {
    const way = wayTo(tree, at);
    const keys: Record<string, () => void> = {
      ArrowRight: () => move(chosen + 1),
      ArrowDown: () => move(chosen + 1),
      ArrowLeft: () => move(chosen - 1),
      ArrowUp: () => move(chosen - 1),
      Home: () => move(0),
      End: () => move(boxes.length - 1),
      Enter: () => boxes[chosen] && enter(boxes[chosen].node),
      ' ': () => boxes[chosen] && enter(boxes[chosen].node),
      Escape: () => way.length > 1 && onOpen(way[way.length - 2]),
    };
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    action();
  };
  return (
    <div class="heap-map" ref={frame} onKeyDown={onKey}>
      <svg width={width} height={height} role="group" aria-label="Retained memory as areas. Arrow keys move, Enter goes into a box, Escape goes out; the table below says the same.">
        {boxes.map((box, index) => {
          const node = tree.nodes[box.node];
          const label = node.kind === 'objects' ? shortType(node.name) : nodeTitle(node);
          const title = box.width > 34 && box.height > 15 ? fitting(`${label} ${formatBytes(node.retainedBytes)}`, box.width) : '';
          const words = nodeWords(node, all);
          return (
            <g
              key={box.node}
              role="button"
              data-box={index}
              data-node={box.node}
              tabIndex={index === chosen ? 0 : -1}
              class={`heap-box ${classOf(node)} ${box.isInner ? 'inner' : ''}`}
              aria-label={title ? `${title}: ${words}` : words}
              onClick={() => enter(box.node)}
              onFocus={() => setChosen(index)}
            >
              <title>{words}</title>
              <rect x={box.x + 0.5} y={box.y + 0.5} width={Math.max(0, box.width - 1)} height={Math.max(0, box.height - 1)} />
              {title ? (
                <text x={box.x + 5} y={box.y + 13}>
                  {title}
                </text>
              ) : null}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
