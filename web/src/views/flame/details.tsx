// What is known of one frame: beside the pointer while it hovers, and in the line below the picture when chosen.
import {useLayoutEffect, useRef} from 'preact/hooks';
import type {Scene} from './canvas';
import {changeText, durationText, percentText} from './words';

export interface Facts {
  name: string;
  facts: string;
  origin: string;
}

export function factsOf({tree, names, zoom, rootTitle, comparison}: Pick<Scene, 'tree' | 'names' | 'zoom' | 'rootTitle' | 'comparison'>, node: number): Facts {
  const facts = [`total ${durationText(tree.total[node])}`, `self ${durationText(tree.self[node])}`, `${percentText(tree.total[node], tree.total[zoom])} of shown`];
  if (zoom !== 0) facts.push(`${percentText(tree.total[node], tree.total[0])} of all`);
  if (node === 0) return {name: rootTitle, facts: facts.join(' · '), origin: ''};
  if (comparison) {
    const now = tree.total[0] > 0 ? tree.total[node] / tree.total[0] : 0;
    facts.push(`before ${percentText(now - comparison.change[node], 1)}, ${changeText(comparison.change[node])}`);
  }
  const name = tree.name[node];
  return {name: names.whole(name), facts: facts.join(' · '), origin: names.origin(name)};
}

export function Tip({facts, x, y}: {facts: Facts; x: number; y: number}) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const {offsetWidth: width, offsetHeight: height, style} = box.current!;
    const left = Math.min(x + 14, window.innerWidth - width - 6);
    const top = y + 20 + height > window.innerHeight ? y - height - 10 : y + 20;
    style.left = `${Math.max(4, left)}px`;
    style.top = `${Math.max(4, top)}px`;
  });
  return (
    <div class="flame-tip" role="tooltip" ref={box}>
      <div class="mono">{facts.name}</div>
      <div class="dim">{facts.origin}</div>
      <div>{facts.facts}</div>
    </div>
  );
}

interface DetailsProps {
  facts?: Facts;
  said: string; // what was just done
  onCopy: () => void;
  onMenu: (x: number, y: number) => void;
}

export function DetailsLine({facts, said, onCopy, onMenu}: DetailsProps) {
  return (
    <div class="flame-details">
      {facts ? (
        <>
          <span class="mono flame-name">{facts.name}</span>
          <span class="dim">{[facts.facts, facts.origin].filter(Boolean).join(' · ')}</span>
          <button type="button" title="Copy the whole name (c)" onClick={onCopy}>
            Copy name
          </button>
          <button
            type="button"
            aria-haspopup="menu"
            onClick={(event) => {
              const place = event.currentTarget.getBoundingClientRect();
              onMenu(place.left, place.top);
            }}
          >
            More …
          </button>
        </>
      ) : (
        <span class="dim">Click a frame to zoom in, right click for more, Esc goes back, ? shows the keys.</span>
      )}
      <span role="status">{said}</span>
    </div>
  );
}
