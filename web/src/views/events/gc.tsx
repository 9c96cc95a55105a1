// Garbage collections: pauses by generation, heap sizes after each, why they happened.
import type {GcCollection, GcGeneration, GcReason, GcView} from '../../api/types';
import type {Span} from '../../api/view';
import type {Line} from '../../ui/chart';
import {formatBytes, formatMs, formatNumber} from '../../ui/format';
import {type Column, Table} from '../../ui/table';
import {Clock} from '../../ui/time';
import {Facts, Timeline} from './frame';
import {counted, gcReason} from './words';

const kGenerations = [0, 1, 2];

function longest(collections: GcCollection[]): GcCollection | undefined {
  return collections.reduce<GcCollection | undefined>((most, one) => ((one.pauseMs ?? 0) > (most?.pauseMs ?? -1) ? one : most), undefined);
}

const bytes = (id: string, title: string, value: (one: GcCollection) => number | undefined): Column<GcCollection> => ({
  id,
  title,
  value,
  as: 'number',
  show: (one) => (value(one) === undefined ? '' : formatBytes(value(one)!)),
});

function columns(from: number): Column<GcCollection>[] {
  const ms = (id: string, title: string, value: (one: GcCollection) => number | null): Column<GcCollection> => ({id, title, value, as: 'number', show: (one) => (value(one) === null ? 'not ended' : formatMs(value(one)!))});
  return [
    {id: 'time', title: 'Time', value: (one) => one.startMs, as: 'number', show: (one) => <Clock ms={from + one.startMs} />},
    {id: 'gen', title: 'Generation', value: (one) => one.generation, as: 'number'},
    ms('pause', 'Pause', (one) => one.pauseMs),
    {id: 'reason', title: 'Reason', value: (one) => one.reason, show: (one) => <span title={gcReason(one.reason)}>{one.reason}</span>},
    {id: 'type', title: 'Type', value: (one) => one.type},
    ms('took', 'Took', (one) => one.durationMs),
    bytes('heap', 'Heap after', (one) => one.heapAfter?.totalBytes),
    bytes('gen0', 'Gen 0', (one) => one.heapAfter?.gen0Bytes),
    bytes('gen1', 'Gen 1', (one) => one.heapAfter?.gen1Bytes),
    bytes('gen2', 'Gen 2', (one) => one.heapAfter?.gen2Bytes),
    bytes('loh', 'Large objects', (one) => one.heapAfter?.lohBytes),
    bytes('promoted', 'Survived', (one) => one.heapAfter?.promotedBytes),
  ];
}

function groupColumns<Row extends GcGeneration | GcReason>(first: Column<Row>[]): Column<Row>[] {
  return [
    ...first,
    {id: 'count', title: 'Collections', value: (one) => one.count, as: 'number', show: (one) => formatNumber(one.count)},
    {id: 'pause', title: 'Paused', value: (one) => one.pauseMs, as: 'number', show: (one) => formatMs(one.pauseMs)},
    {id: 'longest', title: 'Longest', value: (one) => one.longestPauseMs, as: 'number', show: (one) => formatMs(one.longestPauseMs)},
  ];
}

export function GcCollections({view, span}: {view: GcView; span: Span}) {
  const {collections} = view;
  const worst = longest(collections);
  const byTime = [...collections].sort((a, b) => a.startMs - b.startMs);
  const pauses: Line[] = kGenerations.map((generation) => ({
    label: `generation ${generation}`,
    points: byTime.filter((one) => one.generation === generation && one.pauseMs !== null).map((one) => [span.from + one.startMs, one.pauseMs!]),
  }));
  const sizes = byTime.filter((one) => one.heapAfter);
  const last = sizes[sizes.length - 1]?.heapAfter;
  const heap: Line[] = [
    {label: 'whole heap', points: sizes.map((one) => [span.from + one.startMs, one.heapAfter!.totalBytes])},
    {label: 'generation 2', points: sizes.map((one) => [span.from + one.startMs, one.heapAfter!.gen2Bytes])},
    {label: 'large objects', points: sizes.map((one) => [span.from + one.startMs, one.heapAfter!.lohBytes])},
  ];
  return (
    <>
      {worst ? (
        <p data-longest>
          Longest pause {formatMs(worst.pauseMs ?? 0)} at <Clock ms={span.from + worst.startMs} />: generation {worst.generation}, {worst.reason}
          {gcReason(worst.reason) ? ` (${gcReason(worst.reason)})` : ''}.
        </p>
      ) : null}
      <Facts
        facts={[
          {id: 'share', title: 'Time in GC', value: `${(view.timeInGcPercent ?? 0).toFixed(1)} %`, tone: (view.timeInGcPercent ?? 0) >= 10 ? 'warn' : ''},
          {id: 'count', title: 'Collections', value: formatNumber(collections.length), note: view.byGeneration.map((one) => `${formatNumber(one.count)} of generation ${one.generation}`).join(', ')},
          {id: 'paused', title: 'Paused in all', value: formatMs(view.totalPauseMs)},
          {id: 'longest', title: 'Longest pause', value: worst ? formatMs(worst.pauseMs ?? 0) : 'none'},
          {id: 'heap', title: 'Heap after the last', value: last ? formatBytes(last.totalBytes) : 'not known', note: last ? `${formatBytes(last.gen2Bytes)} in generation 2, ${formatBytes(last.lohBytes)} large` : undefined},
        ]}
      />
      <Timeline id="pauses" title="Pauses" lines={pauses} {...span} unit="ms" shape="stems" intervalMs={Infinity} syncKey="gc" table={false} />
      <Timeline id="heap" title="Heap after each collection" lines={heap} {...span} unit="By" shape="steps" intervalMs={Infinity} syncKey="gc" table={false} />
      <div class="columns">
        <section>
          <h2>By generation</h2>
          <Table id="generation" caption={counted(collections.length, 'collection')} rows={view.byGeneration} rowKey={(one) => one.generation} columns={groupColumns<GcGeneration>([{id: 'gen', title: 'Generation', value: (one) => one.generation, as: 'number'}])} />
        </section>
        <section>
          <h2>By reason</h2>
          <Table
            id="reason"
            caption={counted(collections.length, 'collection')}
            rows={view.byReason}
            rowKey={(one) => one.reason}
            columns={groupColumns<GcReason>([
              {
                id: 'reason',
                title: 'Reason',
                value: (one) => one.reason,
                show: (one) => (
                  <>
                    {one.reason} <span class="dim">{gcReason(one.reason)}</span>
                  </>
                ),
              },
            ])}
          />
        </section>
      </div>
      <h2>Collections</h2>
      <Table id="gc" caption={`${counted(collections.length, 'collection')}, the newest first`} rows={byTime.reverse()} rowKey={(one) => one.number} columns={columns(span.from)} />
    </>
  );
}
