// What is on the heap as tables: types, roots, generations, duplicate strings, handles.
import type {Heap, HeapType} from '../../api/types';
import {formatBytes, formatNumber} from '../../ui/format';
import {type Column, Table} from '../../ui/table';
import {Wrapped} from '../../ui/wrapped';
import type {TypeLink} from './path';

const bytes = (value?: number): string => (value === undefined ? 'unknown' : formatBytes(value));

function TypeName({type, link}: {type: string; link: TypeLink}) {
  return (
    <a href={link(type)}>
      <Wrapped text={type} />
    </a>
  );
}

export function typeColumns(link: TypeLink): Column<HeapType>[] {
  return [
    {id: 'bytes', title: 'Size', as: 'number', value: (one) => one.bytes, show: (one) => bytes(one.bytes)},
    {id: 'retained', title: 'Retained', as: 'number', value: (one) => one.retainedBytes, show: (one) => bytes(one.retainedBytes)},
    {id: 'count', title: 'Objects', as: 'number', value: (one) => one.count, show: (one) => formatNumber(one.count)},
    {id: 'type', title: 'Type', as: 'code', value: (one) => one.type, show: (one) => <TypeName type={one.type} link={link} />},
    {id: 'module', title: 'Assembly', value: (one) => one.module ?? ''},
  ];
}

// All words of the filter must be somewhere in the name or the assembly.
export function matchingTypes(types: HeapType[], filter: string): HeapType[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return types;
  return types.filter((one) => {
    const text = `${one.type} ${one.module ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function TypeTable({types, link}: {types: HeapType[]; link: TypeLink}) {
  return <Table id="types" caption="Types on the heap. Retained: what would be freed if all objects of the type were gone." rows={types} columns={typeColumns(link)} rowKey={(one) => `${one.type} ${one.module ?? ''}`} />;
}

export function RootTable({roots}: {roots: Heap['roots']}) {
  return (
    <Table
      id="roots"
      caption="Roots, and what only they keep alive"
      rows={roots}
      rowKey={(one, i) => `${one.kind} ${one.name} ${i}`}
      columns={[
        {id: 'retained', title: 'Retained', as: 'number', value: (one) => one.retainedBytes, show: (one) => formatBytes(one.retainedBytes)},
        {id: 'objects', title: 'Objects', as: 'number', value: (one) => one.retainedObjects, show: (one) => formatNumber(one.retainedObjects)},
        {id: 'kind', title: 'Kind', value: (one) => one.kind},
        {id: 'name', title: 'Name', as: 'code', value: (one) => one.name, show: (one) => <Wrapped text={one.name} />},
        {id: 'type', title: 'Mostly', as: 'code', value: (one) => one.type ?? '', show: (one) => <Wrapped text={one.type ?? ''} />},
      ]}
    />
  );
}

const kGenerations: Record<string, string> = {gen0: 'generation 0', gen1: 'generation 1', gen2: 'generation 2', large: 'large objects', pinned: 'pinned objects', frozen: 'frozen (never collected)', unknown: 'unknown'};
export const generationWords = (name: string): string => kGenerations[name] ?? name;

export function Generations({heap}: {heap: Heap}) {
  return (
    <Table
      id="generations"
      caption="Generations: what objects take, what is free between them"
      rows={heap.generations}
      rowKey={(one) => one.generation}
      columns={[
        {id: 'generation', title: 'Generation', value: (one) => one.generation, show: (one) => generationWords(one.generation)},
        {id: 'objects', title: 'Objects', as: 'number', value: (one) => one.objects, show: (one) => formatNumber(one.objects)},
        {id: 'bytes', title: 'Size', as: 'number', value: (one) => one.bytes, show: (one) => formatBytes(one.bytes)},
        {id: 'free', title: 'Free between', as: 'number', value: (one) => one.freeBytes, show: (one) => formatBytes(one.freeBytes)},
        {id: 'largest', title: 'Largest gap', as: 'number', value: (one) => one.largestFreeBytes, show: (one) => formatBytes(one.largestFreeBytes)},
        {id: 'fragmentation', title: 'Fragmentation', as: 'number', value: (one) => one.fragmentation, show: (one) => `${(one.fragmentation ?? 0).toFixed(1)} %`},
        {id: 'committed', title: 'From the system', as: 'number', value: (one) => one.committedBytes, show: (one) => formatBytes(one.committedBytes)},
        {id: 'segments', title: 'Segments', as: 'number', value: (one) => one.segments, show: (one) => formatNumber(one.segments)},
      ]}
    />
  );
}

export function Strings({heap}: {heap: Heap}) {
  if (!heap.strings.length) return <p>No string is there more than once, or strings were not read.</p>;
  return (
    <>
      <p>One copy of each would save {formatBytes(heap.wastedStringBytes)}.</p>
      <Table
        id="strings"
        caption="Strings that are there more than once"
        rows={heap.strings}
        rowKey={(one, i) => `${i} ${one.value}`}
        columns={[
          {id: 'wasted', title: 'Wasted', as: 'number', value: (one) => one.wastedBytes, show: (one) => formatBytes(one.wastedBytes)},
          {id: 'count', title: 'Copies', as: 'number', value: (one) => one.count, show: (one) => formatNumber(one.count)},
          {id: 'length', title: 'Length', as: 'number', value: (one) => one.length, show: (one) => formatNumber(one.length)},
          {id: 'value', title: 'Value', as: 'code', value: (one) => one.value, show: (one) => (one.value ? one.value : <span class="dim">empty</span>)},
        ]}
      />
    </>
  );
}

export function Handles({heap}: {heap: Heap}) {
  const facts: [string, number | undefined, number | undefined][] = [
    ['objects that pinned handles refer to', heap.pinnedObjects, heap.pinnedBytes],
    ['objects with a finalizer that is not due yet', heap.finalizable, undefined],
    ['objects that wait for their finalizer', heap.toFinalize, undefined],
  ];
  return (
    <>
      <ul class="list">
        {facts
          .filter(([, count]) => count !== undefined)
          .map(([words, count, size]) => (
            <li key={words}>
              {formatNumber(count ?? 0)} {words}
              {size === undefined ? '' : `, ${formatBytes(size)}`}
            </li>
          ))}
      </ul>
      {heap.handles.length ? (
        <Table
          id="handles"
          caption="GC handles"
          rows={heap.handles}
          rowKey={(one) => one.kind}
          columns={[
            {id: 'count', title: 'Handles', as: 'number', value: (one) => one.count, show: (one) => formatNumber(one.count)},
            {id: 'kind', title: 'Kind', value: (one) => one.kind},
          ]}
        />
      ) : (
        <p class="dim">Which handles there are is not known of this snapshot.</p>
      )}
    </>
  );
}
