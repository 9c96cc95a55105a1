// The objects of one type: how many, what keeps them alive, single ones.
import type {HeapInstances} from '../../api/types';
import {Fold, type OpenSet} from '../../ui/fold';
import {formatBytes, formatNumber} from '../../ui/format';
import {Table} from '../../ui/table';
import {type ObjectLink, PathView, pathWords, type TypeLink} from './path';
import {generationWords, TypeTable} from './tables';

const objects = (count: number): string => `${formatNumber(count)} ${count === 1 ? 'object' : 'objects'}`;

interface InstancesProps {
  data: HeapInstances;
  open: OpenSet;
  typeLink: TypeLink;
  objectLink: ObjectLink;
}

export function Instances({data, open, typeLink, objectLink}: InstancesProps) {
  return (
    <div data-instances={data.type}>
      <p class="lead">
        {objects(data.count)}, {formatBytes(data.bytes)}
        {data.retainedBytes === undefined ? '' : `, ${formatBytes(data.retainedBytes)} retained`}
        {data.unreachable ? <span class="dim">; {formatNumber(data.unreachable)} of them wait for the next collection</span> : null}
      </p>
      {data.generations.length ? <p class="dim">{data.generations.map((one) => `${generationWords(one.generation)}: ${objects(one.count)}, ${formatBytes(one.bytes)}`).join(' · ')}</p> : null}
      {data.types.length > 1 ? <TypeTable types={data.types} link={typeLink} /> : null}
      <h2>What keeps them alive</h2>
      {data.paths.length ? null : <p class="dim">Nothing, or references are unknown in this snapshot.</p>}
      {data.paths.map((path, i) => (
        <Fold key={i} id={`path${i}`} open={open} class="heap-paths" summary={`${objects(path.count)}, ${formatBytes(path.bytes)}: ${pathWords(path.steps)}`}>
          <PathView steps={path.steps} typeLink={typeLink} objectLink={objectLink} />
        </Fold>
      ))}
      {data.allPaths > data.paths.length ? <p class="dim">and {formatNumber(data.allPaths - data.paths.length)} more paths</p> : null}
      <h2>Single objects</h2>
      <Table
        id="instances"
        caption={`${data.instances.length < data.count ? `${formatNumber(data.instances.length)} of ${objects(data.count)}` : objects(data.count)}, those that retain most first`}
        rows={data.instances}
        rowKey={(one) => one.address}
        columns={[
          {id: 'retained', title: 'Retained', as: 'number', value: (one) => one.retainedBytes, show: (one) => (one.retainedBytes === undefined ? 'unknown' : formatBytes(one.retainedBytes))},
          {id: 'bytes', title: 'Size', as: 'number', value: (one) => one.bytes, show: (one) => formatBytes(one.bytes)},
          {id: 'generation', title: 'Generation', value: (one) => one.generation, show: (one) => generationWords(one.generation)},
          {id: 'address', title: 'Address', as: 'code', value: (one) => one.address, show: (one) => <a href={objectLink(one.address)}>{one.address}</a>},
          {id: 'path', title: 'Kept alive by', as: 'code', value: (one) => pathWords(one.path.slice(0, 1))},
        ]}
      />
    </div>
  );
}
