// Threads that started: how many, when, and which code started them.
import type {StartedThread, ThreadStarter, ThreadStartsView} from '../../api/types';
import type {Span} from '../../api/view';
import {formatNumber} from '../../ui/format';
import {keysOf} from '../../ui/short-id';
import {type Column, Table} from '../../ui/table';
import {Clock} from '../../ui/time';
import {Wrapped} from '../../ui/wrapped';
import {binned} from './bins';
import {Facts, Timeline} from './frame';
import {counted} from './words';

interface Listed extends StartedThread {
  key: string;
}

const kSiteColumns: Column<ThreadStarter>[] = [
  {id: 'started', title: 'Threads', value: (one) => one.started, as: 'number', show: (one) => formatNumber(one.started)},
  {id: 'method', title: 'Started by', value: (one) => one.method, as: 'code', show: (one) => <Wrapped text={one.method} />},
  {id: 'module', title: 'Module', value: (one) => one.module},
];

function columns(from: number): Column<Listed>[] {
  return [
    {id: 'at', title: 'Started', value: (one) => one.startMs, as: 'number', show: (one) => <Clock ms={from + one.startMs} />},
    {id: 'osId', title: 'Thread', value: (one) => one.osId ?? 0, as: 'number', show: (one) => one.osId ?? 'not known'},
    {id: 'method', title: 'Started by', value: (one) => one.startedBy.method, as: 'code', show: (one) => <Wrapped text={one.startedBy.method} />},
  ];
}

export function ThreadsStarted({view, span}: {view: ThreadStartsView; span: Span}) {
  // Where only the last ones are listed, the chart begins with them: it must not show that none started before.
  const isCut = view.threads.length < view.started;
  const shown = isCut && view.threads.length ? {...span, from: span.from + view.threads[0].startMs} : span;
  const bins = binned(view.threads.map((one) => span.from + one.startMs), shown);
  const keys = keysOf(view.threads, (one) => `${one.osId} ${one.startedBy.method}`); // ids of the system come again
  const listed = view.threads.map((one, index): Listed => ({...one, key: keys[index]})).reverse();
  const all = counted(view.threads.length, 'thread');
  const per = bins.stepMs / 1000;
  return (
    <>
      <Facts
        facts={[
          {id: 'started', title: 'Threads started', value: formatNumber(view.started), note: `${formatNumber(view.startedPerSecond ?? 0)} per second`},
          {id: 'places', title: 'Places that start threads', value: formatNumber(view.sites.length)},
        ]}
      />
      <Timeline id="starts" title={`Threads started in each ${per === 1 ? 'second' : `${per} s`}${isCut ? `, the last ${formatNumber(view.threads.length)}` : ''}`} lines={[{label: '', points: bins.points}]} from={bins.from} to={span.to} unit="{thread}" shape="bars" intervalMs={bins.stepMs} syncKey="threads" />
      <h2>By the code that started them</h2>
      <Table id="site" caption={counted(view.sites.length, 'place')} rows={view.sites} rowKey={(one) => `${one.method} ${one.line ?? ''}`} columns={kSiteColumns} />
      <h2>Threads</h2>
      <Table id="thread" caption={`${isCut ? `The last ${all} of ${formatNumber(view.started)}` : all}, the newest first`} rows={listed} rowKey={(one) => one.key} columns={columns(span.from)} />
    </>
  );
}
