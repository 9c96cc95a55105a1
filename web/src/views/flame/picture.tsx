// A flame graph that can be pointed at, clicked and walked through by keys.
import {useEffect, useRef, useState} from 'preact/hooks';
import {FlameCanvas, type Scene} from './canvas';
import {type Facts, factsOf, Tip} from './details';
import {childrenOf, type Tree} from './tree';

interface PictureProps extends Omit<Scene, 'hovered'> {
  label: string;
  onSelect: (node: number) => void;
  onOpen: (node: number) => void; // click, Enter
  onMenu: (node: number, x: number, y: number) => void;
}

const kLongPressMs = 550;
const kStillPixels = 8;

export function Picture(props: PictureProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawn = useRef<FlameCanvas>();
  const latest = useRef(props);
  const hovered = useRef(-1);
  const press = useRef({timer: 0, x: 0, y: 0, wasLong: false});
  const [tip, setTip] = useState<{facts: Facts; x: number; y: number}>();
  latest.current = props;
  const {tree, zoom, selected, isUpward, label} = props;

  const unhover = () => {
    setTip(undefined);
    if (hovered.current < 0) return;
    hovered.current = -1;
    drawn.current?.redraw();
  };
  useEffect(() => {
    const made = new FlameCanvas(box.current!, canvas.current!, () => ({...latest.current, hovered: hovered.current}));
    drawn.current = made;
    return () => made.end();
  }, []);
  useEffect(() => {
    hovered.current = -1;
    setTip(undefined);
    if (!isUpward) box.current!.scrollTop = Math.min(box.current!.scrollTop, Math.max(0, tree.depth[zoom] - 2) * 19);
    drawn.current?.fit();
  }, [tree, zoom]);
  useEffect(() => {
    if (selected >= 0) drawn.current?.reveal(selected);
  }, [tree, selected]);
  useEffect(() => drawn.current?.redraw());

  const hover = (event: MouseEvent) => {
    const node = drawn.current!.nodeAt(event.clientX, event.clientY);
    if (node < 0) return unhover();
    if (node !== hovered.current) {
      hovered.current = node;
      drawn.current?.redraw();
    }
    setTip({facts: factsOf(props, node), x: event.clientX, y: event.clientY});
  };
  const nodeAt = (event: MouseEvent) => drawn.current!.nodeAt(event.clientX, event.clientY);
  const openMenu = (node: number, x: number, y: number) => {
    unhover();
    props.onSelect(node);
    props.onMenu(node, x, y);
  };
  // By the menu key it comes without a pointer: the menu of what is chosen.
  const onContextMenu = (event: MouseEvent) => {
    event.preventDefault();
    clearTimeout(press.current.timer);
    if (press.current.wasLong) return;
    const isByKey = event.button !== 2 && selected >= 0;
    const node = isByKey ? selected : nodeAt(event);
    if (node < 0) return;
    const place = isByKey ? drawn.current!.placeOf(node) : {x: event.clientX, y: event.clientY};
    openMenu(node, place.x, place.y);
  };
  // Not every browser makes a menu event of a long press.
  const onPointerDown = (event: PointerEvent) => {
    clearTimeout(press.current.timer);
    press.current = {timer: 0, x: event.clientX, y: event.clientY, wasLong: false};
    if (event.pointerType === 'mouse') return;
    const node = nodeAt(event);
    press.current.timer = window.setTimeout(() => {
      press.current.wasLong = true;
      if (node >= 0) openMenu(node, press.current.x, press.current.y);
    }, kLongPressMs);
  };
  const onPointerMove = (event: PointerEvent) => {
    if (Math.hypot(event.clientX - press.current.x, event.clientY - press.current.y) > kStillPixels) clearTimeout(press.current.timer);
  };
  const onClick = (event: MouseEvent) => {
    clearTimeout(press.current.timer);
    const node = nodeAt(event);
    if (node >= 0 && !press.current.wasLong) props.onOpen(node);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isMenu = event.key === 'ContextMenu' || (event.key === 'F10' && event.shiftKey);
    const at = selected < 0 ? zoom : selected;
    if (isMenu) {
      const place = drawn.current!.placeOf(at);
      openMenu(at, place.x, place.y);
    } else if (event.key === 'Enter') props.onOpen(at);
    else {
      const next = nodeAfter(tree, selected, zoom, event.key, isUpward);
      if (next < 0) return;
      props.onSelect(next);
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="flame-box" ref={box} onScroll={unhover}>
      <canvas
        class="flame-canvas"
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={label}
        onMouseMove={hover}
        onMouseLeave={unhover}
        onClick={onClick}
        onContextMenu={onContextMenu}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={() => clearTimeout(press.current.timer)}
        onPointerCancel={() => clearTimeout(press.current.timer)}
        onKeyDown={onKeyDown}
      />
      <div />
      {tip ? <Tip {...tip} /> : null}
    </div>
  );
}

// Where an arrow key leads; -1: it is none.
function nodeAfter(tree: Tree, selected: number, zoom: number, key: string, isUpward: boolean): number {
  if (!key.startsWith('Arrow')) return -1;
  if (selected < 0) return zoom;
  if (key === (isUpward ? 'ArrowDown' : 'ArrowUp')) return tree.parent[selected];
  if (key === (isUpward ? 'ArrowUp' : 'ArrowDown')) return heaviestChild(tree, selected);
  return sibling(tree, selected, key === 'ArrowLeft' ? -1 : 1);
}

function heaviestChild(tree: Tree, node: number): number {
  const {from, to} = childrenOf(tree, node);
  let best = node;
  for (let i = from; i < to; ++i) if (best === node || tree.total[i] > tree.total[best]) best = i;
  return best;
}

// The next one on the same level that has time, whoever its parent is.
function sibling(tree: Tree, node: number, step: number): number {
  const depth = tree.depth[node];
  for (let i = node + step; i >= tree.level[depth] && i < tree.level[depth + 1]; i += step) if (tree.total[i] > 0) return i;
  return node;
}
