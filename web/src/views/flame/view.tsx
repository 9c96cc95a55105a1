// The viewer: a trace, perhaps another to compare it with, and what the reader chose, which is in the address.
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import type {Flame} from '../../api/types';
import {setQuery, usePlace} from '../../frame/router';
import {copyText} from '../../ui/copy';
import {CallTree} from './calltree';
import {compareTrees, type Comparison, keyText, nodeOfKey, pathKeys} from './compare';
import {readTrace, type Trace} from './data';
import {DetailsLine, factsOf} from './details';
import {FunctionTable} from './function-table';
import {useKeys} from './keys';
import {Menu, type MenuItem, type MenuPlace} from './menu';
import {Picture} from './picture';
import {sandwichOf} from './sandwich';
import {type Found, search} from './search';
import {choiceQuery, kFramework, type Panel, readState, weightsOf} from './state';
import {Empty, Flaws, KeysDialog, Summary} from './texts';
import {Legend, Toolbar} from './toolbar';
import {buildTree, type Choice, followPath, pathOf, type Tree} from './tree';
import {Names, percentText} from './words';

const kWide = 1000; // pixels: from here on the table is shown unasked

interface Chosen {
  tree: Tree;
  node: number;
}

interface FlameViewProps {
  json: Flame;
  other?: Flame; // to compare with: what was before
  recordAddress?: (profile: string) => string;
  summary?: string; // what it is made of, if not of samples
}

function resultText(found: Found | null, tree: Tree): string {
  if (!found) return '';
  if (found.error) return found.error;
  if (found.functions === 0) return 'no match';
  return `${percentText(found.time, tree.total[0])} matched, ${found.functions} function${found.functions === 1 ? '' : 's'}`;
}

// The last few trees, so that going back and forth does not build them again.
function useTrees(trace: Trace): (choice: Choice) => Tree {
  const all = useRef({trace, trees: new Map<string, Tree>()});
  if (all.current.trace !== trace) all.current = {trace, trees: new Map()}; // of another answer: its names are others
  const kept = all.current.trees;
  return (choice) => {
    const id = JSON.stringify([choice.weight, choice.inverted, [...choice.hiddenKinds], choice.unnamed, choice.process, choice.thread]);
    const known = kept.get(id);
    if (known) return known;
    const made = buildTree(trace, choice);
    if (kept.size >= 4) kept.delete(kept.keys().next().value ?? '');
    kept.set(id, made);
    return made;
  };
}

export function FlameView({json, other, recordAddress, summary}: FlameViewProps) {
  const trace = useMemo(() => readTrace(json), [json]);
  const names = useMemo(() => new Names(trace), [trace]);
  const otherTrace = useMemo(() => (other ? readTrace(other) : undefined), [other]);
  const {query} = usePlace();
  const weights = weightsOf(trace, recordAddress !== undefined);
  const asked = readState(query, trace, recordAddress !== undefined);
  const all = {process: -1, thread: -1};
  const choice: Choice = {...asked.choice, ...(other ? all : {}), ...(asked.isSandwich ? {inverted: false} : {})};
  const state = {...asked, choice};
  const {isSandwich} = state;
  const treeOf = useTrees(trace);
  const otherTreeOf = useTrees(otherTrace ?? trace);
  const tree = treeOf(choice);
  const keys = useMemo(() => pathKeys(tree, names), [tree]);
  const zoom = useMemo(() => nodeOfKey(keys, state.zoom), [keys, state.zoom]);
  const found = useMemo(() => search(tree, names, state.search.trim()), [tree, state.search]);
  const otherTree = otherTrace ? otherTreeOf(choice) : undefined;
  const comparison: Comparison | null = useMemo(() => {
    if (!otherTrace || !otherTree) return null;
    const otherNames = new Names(otherTrace);
    return compareTrees(tree, keys, otherTree, pathKeys(otherTree, otherNames), otherNames, choice.inverted);
  }, [tree, otherTree]);
  const middle = isSandwich && state.fn ? names.find(state.fn) : -1;
  const sandwich = useMemo(() => (middle >= 0 ? sandwichOf(tree, middle) : undefined), [tree, middle]);

  const [chosen, setChosen] = useState<Chosen>();
  const [menu, setMenu] = useState<MenuPlace & {name: number; at?: Chosen}>();
  const [said, setSaid] = useState('');
  const root = useRef<HTMLDivElement>(null);
  const searchBox = useRef<HTMLInputElement>(null);
  const dialog = useRef<HTMLDialogElement>(null);
  const steps = useRef<string[]>([]); // zooms from which the reader came to this one: the way out
  const lastMatch = useRef(0);
  useEffect(() => {
    if (steps.current[steps.current.length - 1] === state.zoom) steps.current.pop();
  }, [state.zoom]);

  const isEmpty = tree.total[0] <= 0;
  const isWide = window.innerWidth >= kWide;
  const panel: Panel = state.panel || (isSandwich ? (isWide || !state.fn ? 'functions' : 'off') : isWide ? 'tree' : 'off');
  // What is chosen, if it is in a tree that is shown.
  const trees = sandwich ? [sandwich.callers, sandwich.callees] : [tree];
  const shown = chosen && trees.includes(chosen.tree) ? chosen : zoom !== 0 && !isSandwich ? {tree, node: zoom} : undefined;
  const selectedIn = (one: Tree) => (shown?.tree === one ? shown.node : -1);
  const scene = {tree, names, zoom, selected: selectedIn(tree), found, rootTitle: 'all', comparison, isUpward: false};

  const choose = (change: Partial<Choice>) => {
    const next = {...choice, ...change};
    const nextTree = treeOf(next);
    const node = 'inverted' in change ? 0 : followPath(nextTree, pathOf(tree, zoom)); // stays where the new tree has the same path
    const key = node === 0 ? '' : keyText(pathKeys(nextTree, names)[node]);
    setQuery({...choiceQuery(next, trace), zoom: key});
  };
  const toggleKinds = (kinds: number[]) => {
    const hidden = new Set(choice.hiddenKinds);
    const areHidden = kinds.every((kind) => hidden.has(kind));
    for (const kind of kinds)
      if (areHidden) hidden.delete(kind);
      else hidden.add(kind);
    choose({hiddenKinds: hidden});
  };
  const zoomTo = (node: number) => {
    setChosen({tree, node});
    if (node === zoom && !isSandwich) return;
    if (!isSandwich) steps.current.push(state.zoom);
    setQuery({zoom: node === 0 ? '' : keyText(keys[node]), view: undefined, fn: undefined}, 'push');
  };
  const zoomOut = () => {
    if (isSandwich) setQuery({view: undefined, fn: undefined}, 'push');
    else if (state.zoom) setQuery({zoom: steps.current.pop()}, 'push');
    else setChosen(undefined);
  };
  const focusOn = (name: string) => setQuery({view: 'sandwich', fn: name}, 'push');
  const toggleView = () => setQuery(isSandwich ? {view: undefined} : {view: 'sandwich', fn: state.fn || (shown && shown.node ? names.whole(shown.tree.name[shown.node]) : undefined)}, 'push');
  const toggleTable = () => setQuery({panel: panel === 'off' ? (isSandwich ? 'functions' : 'tree') : 'off'});
  const searchFor = (text: string) => {
    lastMatch.current = 0;
    setQuery({q: text});
  };
  // From one match to the next, in the order in which they are drawn.
  const nextMatch = () => {
    if (!found || found.functions === 0) return;
    for (let step = 1; step <= tree.name.length; ++step) {
      const node = (lastMatch.current + step) % tree.name.length;
      if (node === 0 || !found.matches[tree.name[node]] || tree.total[node] <= 0) continue;
      lastMatch.current = node;
      setChosen({tree, node});
      return;
    }
  };
  const copy = async (what: string, text: string) => {
    setSaid((await copyText(text)) ? `${what} copied` : 'The browser does not allow copying');
  };
  useEffect(() => {
    if (!said) return undefined;
    const timer = setTimeout(() => setSaid(''), 2000);
    return () => clearTimeout(timer);
  }, [said]);

  const wholeOf = ({tree: one, node}: Chosen) => (node === 0 ? (isSandwich ? state.fn : 'all') : names.whole(one.name[node]));
  const stackOf = ({tree: one, node}: Chosen) => {
    const path = pathOf(one, node).map((name) => names.whole(name));
    if (one === sandwich?.callers) return [state.fn, ...path].join('\n');
    const rooted = one === sandwich?.callees ? [state.fn, ...path] : path;
    return (choice.inverted ? rooted : rooted.reverse()).join('\n');
  };
  const itemsFor = (name: number, at?: Chosen): MenuItem[] => {
    const whole = name >= 0 ? names.whole(name) : '';
    const items: MenuItem[] = [];
    if (at && at.tree === tree) items.push({title: 'Zoom in', action: () => zoomTo(at.node)});
    if (whole) items.push({title: 'Callers and callees (sandwich)', action: () => focusOn(whole)}, {title: 'Search this name', action: () => searchFor(whole)}, {title: 'Copy name', action: () => void copy('Name', whole)});
    if (at && whole) items.push({title: 'Copy stack', action: () => void copy('Stack', stackOf(at))});
    if (whole && name !== trace.waiting) items.push({title: `Hide all of kind “${names.kindTitle(name)}”`, action: () => toggleKinds([names.kind(name)])});
    return items.length ? items : [{title: 'Show everything', action: () => zoomTo(0)}];
  };
  const openMenu = (at: Chosen, x: number, y: number) => setMenu({x, y, at, name: at.node === 0 ? middle : at.tree.name[at.node]});

  useKeys(root, {
    '/': () => searchBox.current?.focus(),
    v: toggleView,
    i: () => !isSandwich && choose({inverted: !choice.inverted}),
    f: () => toggleKinds(kFramework),
    t: toggleTable,
    w: () => choose({weight: weights[(weights.indexOf(choice.weight) + 1) % weights.length]}),
    n: nextMatch,
    c: () => shown && void copy('Name', wholeOf(shown)),
    m: () => {
      const at = shown ?? {tree: trees[trees.length - 1], node: 0};
      const place = root.current?.querySelector('.flame-details')?.getBoundingClientRect();
      openMenu(at, place?.left ?? 0, place?.top ?? 0);
    },
    Home: () => !isSandwich && zoomTo(0),
    Backspace: zoomOut,
    '?': () => dialog.current?.showModal(),
    Escape: (inField) => {
      if (inField && state.search) searchFor('');
      if (inField) root.current?.querySelector<HTMLElement>('.flame-canvas')?.focus();
      else zoomOut();
    },
  });

  const picture = (one: Tree, title: string, label: string, isUpward: boolean) => (
    <Picture
      {...scene}
      tree={one}
      zoom={0}
      selected={selectedIn(one)}
      rootTitle={title}
      comparison={null}
      isUpward={isUpward}
      label={label}
      onSelect={(node) => setChosen({tree: one, node})}
      onOpen={(node) => (node === 0 ? setChosen({tree: one, node}) : focusOn(names.whole(one.name[node])))}
      onMenu={(node, x, y) => openMenu({tree: one, node}, x, y)}
    />
  );
  const rootName = middle >= 0 ? names.fitting(middle, 80) : '';
  const facts = shown ? factsOf({...scene, tree: shown.tree, zoom: shown.tree === tree ? zoom : 0, rootTitle: wholeOf(shown), comparison: shown.tree === tree ? comparison : null}, shown.node) : undefined;
  return (
    <div class={`flame${comparison ? ' compared' : ''}`} ref={root} data-nodes={tree.name.length} data-zoom={zoom}>
      {summary ? <p class="flame-summary">{summary}</p> : <Summary json={json} />}
      <Flaws json={json} whose="This recording" />
      {other ? <Flaws json={other} whose="The recording that it is compared with" /> : null}
      <Toolbar trace={trace} state={state} weights={weights} isTableShown={panel !== 'off'} isCompared={comparison !== null} result={resultText(found, tree)} searchBox={searchBox} onChoice={choose} onKinds={toggleKinds} onView={(wanted) => wanted !== isSandwich && toggleView()} onTable={toggleTable} onReset={() => zoomTo(0)} onSearch={searchFor} onNextMatch={nextMatch} />
      <Legend trace={trace} state={state} isCompared={comparison !== null} result={resultText(found, tree)} onKinds={toggleKinds} onChoice={choose} />
      <div class={`flame-stage${panel !== 'off' && !isEmpty ? ' with-table' : ''}`}>
        {isEmpty ? (
          <Empty json={json} choice={choice} recordAddress={recordAddress} />
        ) : !isSandwich ? (
          <Picture
            {...scene}
            label="Flame graph. Arrow keys move, Enter zooms, Escape goes back, m opens a menu; the tables beside it say the same as text."
            onSelect={(node) => setChosen({tree, node})}
            onOpen={zoomTo}
            onMenu={(node, x, y) => openMenu({tree, node}, x, y)}
          />
        ) : sandwich && sandwich.total > 0 ? (
          <div class="flame-sandwich">
            <p>
              <b class="mono">{state.fn}</b>{' '}
              <span class="dim">
                {percentText(sandwich.total, tree.total[0])} of all with what it called, {percentText(sandwich.self, tree.total[0])} itself
              </span>
            </p>
            {picture(sandwich.callers, `callers of ${rootName}`, `Callers of ${state.fn}, upward. Arrow keys move, Enter goes to a function.`, true)}
            {picture(sandwich.callees, rootName, `Callees of ${state.fn}, downward. Arrow keys move, Enter goes to a function.`, false)}
          </div>
        ) : (
          <div class="flame-empty" role="status">
            <p>{state.fn ? `${state.fn} is not in what is shown.` : 'Choose a function from the table: its callers will stand above it, its callees below.'}</p>
          </div>
        )}
        {panel === 'off' || isEmpty ? null : (
          <div class="flame-table" tabIndex={0} role="region" aria-label="Table">
            {isSandwich ? null : (
              <div class="flame-tabs flame-group">
                <button type="button" title="Who called whom" aria-pressed={panel === 'tree'} onClick={() => setQuery({panel: 'tree'})}>
                  Call tree
                </button>
                <button type="button" title="Each function once, by its own time" aria-pressed={panel === 'functions'} onClick={() => setQuery({panel: 'functions'})}>
                  Functions
                </button>
              </div>
            )}
            {panel === 'functions' || isSandwich ? (
              <FunctionTable
                tree={tree}
                names={names}
                zoom={isSandwich ? 0 : zoom}
                comparison={comparison}
                inverted={choice.inverted}
                chosen={state.fn}
                sort={state.sort}
                filter={state.filter}
                onSort={(sort) => setQuery({sort: sort === '-self' ? undefined : sort})}
                onFilter={(filter) => setQuery({filter})}
                onChoose={focusOn}
                onMenu={(name, x, y) => setMenu({name, x, y})}
              />
            ) : (
              <CallTree {...scene} onSelect={(node) => setChosen({tree, node})} onZoom={zoomTo} onMenu={(node, x, y) => openMenu({tree, node}, x, y)} />
            )}
          </div>
        )}
      </div>
      <DetailsLine facts={facts} said={said} onCopy={() => shown && void copy('Name', wholeOf(shown))} onMenu={(x, y) => shown && openMenu(shown, x, y)} />
      {menu ? <Menu {...menu} label="What to do with this function" items={itemsFor(menu.name, menu.at)} onClose={() => setMenu(undefined)} /> : null}
      <KeysDialog dialog={dialog} />
    </div>
  );
}
