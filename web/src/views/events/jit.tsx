// Methods that were compiled while the program ran: how many, how long, which.
import type {JitMethod, JitTier, JitView} from '../../api/types';
import type {Span} from '../../api/view';
import {formatBytes, formatMs, formatNumber, formatPercent} from '../../ui/format';
import {keysOf} from '../../ui/short-id';
import {type Column, Table} from '../../ui/table';
import {Clock} from '../../ui/time';
import {Wrapped} from '../../ui/wrapped';
import {binned} from './bins';
import {Facts, Timeline} from './frame';
import {counted, tierWords} from './words';

interface Compiled extends JitMethod {
  key: string;
}

const kTierColumns: Column<JitTier>[] = [
  {
    id: 'tier',
    title: 'Tier',
    value: (one) => one.tier,
    show: (one) => (
      <>
        {one.tier} <span class="dim">{tierWords(one.tier)}</span>
      </>
    ),
  },
  {id: 'count', title: 'Methods', value: (one) => one.count, as: 'number', show: (one) => formatNumber(one.count)},
  {id: 'time', title: 'Time', value: (one) => one.jitMs, as: 'number', show: (one) => formatMs(one.jitMs)},
  {id: 'il', title: 'IL', value: (one) => one.ilBytes, as: 'number', show: (one) => formatBytes(one.ilBytes)},
  {id: 'code', title: 'Machine code', value: (one) => one.nativeBytes, as: 'number', show: (one) => formatBytes(one.nativeBytes)},
];

function methodColumns(from: number): Column<Compiled>[] {
  return [
    {id: 'time', title: 'Time to compile', value: (one) => one.jitMs, as: 'number', show: (one) => (one.jitMs === null ? 'not known' : formatMs(one.jitMs))},
    {id: 'method', title: 'Method', value: (one) => one.method, as: 'code', show: (one) => <Wrapped text={one.method} />},
    {id: 'tier', title: 'Tier', value: (one) => one.tier, show: (one) => <span title={tierWords(one.tier)}>{one.tier}</span>},
    {id: 'at', title: 'At', value: (one) => one.startMs, as: 'number', show: (one) => <Clock ms={from + one.startMs} />},
    {id: 'il', title: 'IL', value: (one) => one.ilBytes, as: 'number', show: (one) => formatBytes(one.ilBytes)},
    {id: 'code', title: 'Machine code', value: (one) => one.nativeBytes, as: 'number', show: (one) => formatBytes(one.nativeBytes)},
    {id: 'module', title: 'Module', value: (one) => one.module},
  ];
}

export function JitMethods({view, span}: {view: JitView; span: Span}) {
  const bins = binned(view.methods.map((one) => span.from + one.startMs), span);
  const sum = (value: (one: JitTier) => number) => view.byTier.reduce((all, one) => all + value(one), 0);
  const keys = keysOf(view.methods, (one) => `${one.method} ${one.tier} ${one.nativeBytes}`); // the start of the time span moves: times are no keys
  const slowest = view.methods.map((one, index): Compiled => ({...one, key: keys[index]})).sort((a, b) => (b.jitMs ?? -1) - (a.jitMs ?? -1));
  const per = bins.stepMs / 1000;
  return (
    <>
      <Facts
        facts={[
          {id: 'methods', title: 'Methods compiled', value: formatNumber(view.jitted)},
          {id: 'time', title: 'Time to compile', value: formatMs(view.totalJitMs), note: view.durationMs ? `${formatPercent((100 * view.totalJitMs) / view.durationMs)} of one core` : undefined},
          {id: 'code', title: 'Machine code', value: formatBytes(sum((one) => one.nativeBytes)), note: `from ${formatBytes(sum((one) => one.ilBytes))} of IL`},
          {id: 'slowest', title: 'Slowest', value: slowest[0] ? formatMs(slowest[0].jitMs ?? 0) : 'none'},
        ]}
      />
      <Timeline id="rate" title={`Methods compiled in each ${per === 1 ? 'second' : `${per} s`}`} lines={[{label: '', points: bins.points}]} from={bins.from} to={span.to} unit="{method}" shape="bars" intervalMs={bins.stepMs} syncKey="jit" />
      <h2>By tier</h2>
      <Table id="tier" caption={counted(view.jitted, 'method')} rows={view.byTier} rowKey={(one) => one.tier} columns={kTierColumns} />
      <h2>Methods</h2>
      <Table id="jit" caption={`${counted(view.methods.length, 'method')}, the slowest to compile first`} rows={slowest} rowKey={(one) => one.key} columns={methodColumns(span.from)} />
    </>
  );
}
