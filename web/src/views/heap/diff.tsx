// Two snapshots compared: which types and roots have grown.
import type {HeapDiff} from '../../api/types';
import {formatBytes, formatNumber} from '../../ui/format';
import {Table} from '../../ui/table';
import {Wrapped} from '../../ui/wrapped';
import type {TypeLink} from './path';

const signed = (value: number, words: (value: number) => string): string => `${value > 0 ? '+' : value < 0 ? '−' : ''}${words(Math.abs(value))}`;
const change = (value: number | undefined, words: (value: number) => string) => (value === undefined ? 'unknown' : <span class={value > 0 ? 'grown' : value < 0 ? 'shrunk' : ''}>{signed(value, words)}</span>);

export function DiffView({data, typeLink}: {data: HeapDiff; typeLink: TypeLink}) {
  return (
    <div data-diff>
      <p class="lead">
        {data.bytesChange === 0 ? 'As large as before' : `${signed(data.bytesChange, formatBytes)}, ${signed(data.objectsChange, formatNumber)} objects`}{' '}
        <span class="dim">
          from {formatBytes(data.before.bytes)} to {formatBytes(data.after.bytes)}
        </span>
      </p>
      <Table
        id="changes"
        caption={`${formatNumber(data.allTypes)} types differ, those that have grown most first`}
        rows={data.types}
        rowKey={(one) => `${one.type} ${one.module ?? ''}`}
        columns={[
          {id: 'bytes', title: 'Size', as: 'number', value: (one) => one.bytesChange, show: (one) => change(one.bytesChange, formatBytes)},
          {id: 'count', title: 'Objects', as: 'number', value: (one) => one.countChange, show: (one) => change(one.countChange, formatNumber)},
          {id: 'retained', title: 'Retained', as: 'number', value: (one) => one.retainedBytesChange, show: (one) => change(one.retainedBytesChange, formatBytes)},
          {id: 'now', title: 'Now', as: 'number', value: (one) => one.bytesAfter, show: (one) => `${formatNumber(one.countAfter)}, ${formatBytes(one.bytesAfter)}`},
          {
            id: 'type',
            title: 'Type',
            as: 'code',
            value: (one) => one.type,
            show: (one) => (
              <a href={typeLink(one.type)}>
                <Wrapped text={one.type} />
              </a>
            ),
          },
        ]}
      />
      {data.roots.length ? (
        <Table
          id="root-changes"
          caption="Roots that keep more or less alive"
          rows={data.roots}
          rowKey={(one, i) => `${one.kind} ${one.name} ${i}`}
          columns={[
            {id: 'retained', title: 'Retained', as: 'number', value: (one) => one.retainedBytesChange, show: (one) => change(one.retainedBytesChange, formatBytes)},
            {id: 'now', title: 'Now', as: 'number', value: (one) => one.retainedBytesAfter, show: (one) => formatBytes(one.retainedBytesAfter)},
            {id: 'kind', title: 'Kind', value: (one) => one.kind},
            {id: 'name', title: 'Name', as: 'code', value: (one) => one.name, show: (one) => <Wrapped text={one.name} />},
          ]}
        />
      ) : null}
      {data.notes.map((note) => (
        <p class="dim" key={note}>
          {note}
        </p>
      ))}
    </div>
  );
}
