// One object: why it is alive, what it refers to, what refers to it.
import type {HeapObject} from '../../api/types';
import {formatBytes, formatNumber} from '../../ui/format';
import {Table} from '../../ui/table';
import {Wrapped} from '../../ui/wrapped';
import {type ObjectLink, PathView, type TypeLink} from './path';
import {generationWords} from './tables';

interface ObjectProps {
  data: HeapObject;
  typeLink: TypeLink;
  objectLink: ObjectLink;
}

export function ObjectView({data, typeLink, objectLink}: ObjectProps) {
  return (
    <div data-object={data.address}>
      <p class="lead">
        <a class="mono" href={typeLink(data.type)}>
          <Wrapped text={data.type} />
        </a>{' '}
        <span class="mono dim">{data.address}</span>
      </p>
      <p>
        {formatBytes(data.bytes)}, {formatBytes(data.retainedBytes)} retained · {generationWords(data.generation)}
        {data.module ? ` · ${data.module}` : ''}
        {data.reachable ? '' : ' · nothing keeps it alive any more'}
      </p>
      {data.dominator ? (
        <p>
          Kept alive by this object alone:{' '}
          <a class="mono" href={objectLink(data.dominator.address)}>
            <Wrapped text={data.dominator.type} /> {data.dominator.address}
          </a>
          , {formatBytes(data.dominator.retainedBytes)} retained.
        </p>
      ) : null}
      <h2>Path from a root</h2>
      <PathView steps={data.path} typeLink={typeLink} objectLink={objectLink} />
      <Neighbours id="referrers" title="What refers to it" list={data.referrers} all={data.allReferrers} objectLink={objectLink} />
      <Neighbours id="references" title="What it refers to" list={data.references} all={data.allReferences} objectLink={objectLink} />
    </div>
  );
}

function Neighbours({id, title, list, all, objectLink}: {id: string; title: string; list: HeapObject['references']; all: number; objectLink: ObjectLink}) {
  return (
    <>
      <h2>{title}</h2>
      {list.length ? (
        <Table
          id={id}
          caption={list.length < all ? `${formatNumber(list.length)} of ${formatNumber(all)} objects` : `${formatNumber(all)} ${all === 1 ? 'object' : 'objects'}`}
          rows={list}
          rowKey={(one, i) => `${one.address} ${i}`}
          columns={[
            {id: 'retained', title: 'Retained', as: 'number', value: (one) => one.retainedBytes, show: (one) => formatBytes(one.retainedBytes)},
            {id: 'bytes', title: 'Size', as: 'number', value: (one) => one.bytes, show: (one) => formatBytes(one.bytes)},
            {id: 'type', title: 'Type', as: 'code', value: (one) => one.type, show: (one) => <Wrapped text={one.type} />},
            {id: 'address', title: 'Address', as: 'code', value: (one) => one.address, show: (one) => <a href={objectLink(one.address)}>{one.address}</a>},
          ]}
        />
      ) : (
        <p class="dim">Nothing.</p>
      )}
    </>
  );
}
